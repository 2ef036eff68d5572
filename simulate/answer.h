// The two ways in which a whole table of names is answered, without a function written by hand for each: `done` for
// work that leaves nothing for the host to read, and `refused`, which says once what is not simulated. A table (*.def)
// has rows DONE(name) and REFUSED(name); a name that the family's header does not declare does not compile.
#pragma once

// Says it once for each name; `said` is where that is remembered.
extern "C" int device_audit_simulated_refuse(bool* said, const char* name, const char* status_name, int status);

#ifndef DEVICE_AUDIT_REFUSE
#define DEVICE_AUDIT_REFUSE(said, name, status_name, status) \
  device_audit_simulated_refuse(&said, name, status_name, status)
#endif

// The answers take no parameter where the declarations have some: in the C calling conventions of Linux the caller
// clears the stack. Each is defined under a name of its own and carries the answered name for the linker, which the
// header may overload.
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define DEVICE_AUDIT_TEXT_(name) #name
#define DEVICE_AUDIT_TEXT(name) DEVICE_AUDIT_TEXT_(name)

#define DEVICE_AUDIT_ALIAS(name, target) \
  extern "C" int device_audit_answer_##name() __asm__(DEVICE_AUDIT_TEXT(name)) __attribute__((alias(target)));
#define DEVICE_AUDIT_DECLARED(name)            \
  namespace device_audit::simulate::declared { \
  using ::name;                                \
  }

#define DEVICE_AUDIT_DONE_ANSWER(status)         \
  extern "C" {                                   \
  [[gnu::used]] static int device_audit_done() { \
    return static_cast<int>(status);             \
  }                                              \
  }
#define DEVICE_AUDIT_DONE(name) \
  DEVICE_AUDIT_DECLARED(name)   \
  DEVICE_AUDIT_ALIAS(name, "device_audit_done")

#define DEVICE_AUDIT_REFUSED_UNDECLARED(name, status)                           \
  extern "C" {                                                                  \
  [[gnu::used]] static int device_audit_refuse_##name() {                       \
    static bool said;                                                           \
    return DEVICE_AUDIT_REFUSE(said, #name, #status, static_cast<int>(status)); \
  }                                                                             \
  }                                                                             \
  DEVICE_AUDIT_ALIAS(name, "device_audit_refuse_" #name)
#define DEVICE_AUDIT_REFUSED(name, status) \
  DEVICE_AUDIT_DECLARED(name)              \
  DEVICE_AUDIT_REFUSED_UNDECLARED(name, status)
