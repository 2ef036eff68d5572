/* The one interface between the preloaded core (hook/) and the parts that it opens (hook/torch/, cupti/): plain structs
 * and function tables in C, so that no C++ runtime, exception or allocator crosses it.
 *
 * A part exports `device_audit_part_start`. The core opens the part with RTLD_NOW | RTLD_LOCAL once the library that
 * the part is built for is mapped, and calls that function once in the life of the process.
 */
#ifndef DEVICE_AUDIT_BRIDGE_H
#define DEVICE_AUDIT_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct here changes its layout or a function its meaning. Core and part are built together: a part
 * of another version is refused. */
#define DEVICE_AUDIT_BRIDGE_VERSION 1u

/* The ELF note (name, type) in which a part carries the build-id of the libtorch_cpu.so that it was built against: the
 * core compares it with the one that is mapped before any code of the part runs. */
#define DEVICE_AUDIT_NOTE_NAME "device-audit"
#define DEVICE_AUDIT_NOTE_TORCH_BUILD_ID 1u

enum device_audit_level {
  DEVICE_AUDIT_ERROR = 0, /* a finding, or what the user must know: printed unless the log is off */
  DEVICE_AUDIT_WARN = 1,
  DEVICE_AUDIT_INFO = 2,
  DEVICE_AUDIT_DEBUG = 3,
  DEVICE_AUDIT_TRACE = 4,
};

/* The settings that parts need, parsed once by the core from the environment (audit/settings.def). */
struct device_audit_settings {
  int mode_full, mode_adaptive, mode_errors; /* exactly one is 1 */
  int stacks_python, stacks_native;
  int origins;
  int allocations;
  int cupti;
  int modules_mismatch, modules_first_forward, modules_exit;
  int signal;        /* signal number, 0: none */
  int simulated;     /* number of simulated GPUs whose runtime is preloaded, 0: none */
  int log_level;     /* enum device_audit_level, -1: off */
  const char* allow; /* path, or NULL */
};

/* What the core does for its parts. Every function may be called from any thread, takes no lock that is held while user
 * code or the dynamic loader runs, never throws, and keeps errno. */
struct device_audit_core {
  uint32_t version; /* DEVICE_AUDIT_BRIDGE_VERSION */
  const struct device_audit_settings* settings;
  const char* folder; /* where the core's own library lies, without a slash at the end */

  /* Appends one record to this process's journal, opening it if it is the first. `members` are the members of one JSON
   * object without its braces, valid UTF-8 without line breaks, beginning with `"type":`. Returns 0, or an errno when
   * it could not be written. */
  int (*journal)(const char* members, size_t length);

  /* `count` fresh counters in the shared counts file, adjacent and zero; *slot becomes the index of the first, for the
   * record that explains them. NULL where none are left or the file could not be made: count privately and write
   * `counts` records. A forked child must ask anew: its counters are not its parent's (see `process`). */
  uint64_t* (*counters)(uint32_t count, uint32_t* slot);

  /* Writes `text` (no line break at its end) to stderr or the log file, whole and in one write, if `level` is enabled.
   */
  void (*say)(enum device_audit_level level, const char* text, size_t length);

  /* Depth of our own code on this thread: while it is not 0 nothing of this thread is observed. Raise it around
   * whatever calls into torch, Python or libc++ from a hook. */
  int* (*guard)(void);

  /* A number that differs in each process of a family of forks, read without a system call. */
  uint32_t (*process)(void);

  /* A part switched itself off: said once, kept in the journal. Strings are copied. */
  void (*switched_off)(const char* part, const char* why);
};

/* What a part gives the core. A NULL function is not called. */
struct device_audit_part {
  uint32_t version;     /* DEVICE_AUDIT_BRIDGE_VERSION */
  const char* describe; /* such as "2.15.0+cu132", static */

  /* On the throwing thread, before the C++ exception is thrown by the runtime library mapped at `runtime_base` (0: not
   * known). `type` is its std::type_info. Must not throw; guard is raised by the core around it. */
  void (*thrown)(void* object, const void* type, uintptr_t runtime_base);

  /* Around fork, in this order: locks are taken in prepare, given back in parent, made new in child. */
  void (*fork_prepare)(void);
  void (*fork_parent)(void);
  void (*fork_child)(void);

  /* On a thread that called abort, before it takes effect: std::terminate comes here, for an exception that nobody
   * catches. Any lock may be held. */
  void (*terminating)(void);

  /* The process is about to end, by exit or quick_exit: write what is not yet written. Called at most once, on the
   * ending thread; not before _exit, which may come from a signal handler with any lock held. */
  void (*finish)(void);
};

/* Fills `part`. Returns NULL, or a static text that says why the part cannot work in this process. */
typedef const char* (*device_audit_part_start_function)(const struct device_audit_core* core,
                                                        struct device_audit_part* part);

#ifdef __cplusplus
}
#endif

#endif
