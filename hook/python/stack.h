// The Python side of the current thread: its stack, the line of the user's that called into torch, and the error that
// ended the program.
//
// Every function may be called on any thread, with or without the GIL, in a process with or without a Python. Where
// Python cannot be asked (none here, not initialised, finalising, a thread without a Python thread state, a
// subinterpreter) the answer is empty. None runs user code, keeps a user's object alive or changes a pending error.
// Errors: none is thrown; out of memory is an empty answer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace device_audit::python {

// Strings are bytes as Python and the file have them: UTF-8 but for files that are not.
struct Frame {
  std::string file;      // as the code object names it; `<stdin>` and the like too
  int line;              // from 1
  std::string function;  // with its classes (`Net.forward`) from Python 3.11 on
  std::string code;      // the source line without its indent and line break, "" if not readable
  bool library;          // inside torch, the standard library or the frozen modules
  bool standard;         // of these, inside the standard library or the frozen modules
};

// Whether Python can be asked on this thread now. Does not take the GIL.
bool available();

// The frames of this thread, innermost first, at most `limit`. Takes the GIL; source files are read without it.
std::vector<Frame> stack(std::size_t limit = 64);

// Identity of a frame's place: equal for two calls from the same place while the code object lives.
struct Site {
  const void* code = nullptr;  // the code object; null: no frame. Not kept alive, never to be followed
  int instruction = -1;        // in it; before Python 3.11 its line
  std::size_t line = 0;        // a hash of file and line, which says the same when the code object is long gone

  friend bool operator==(const Site&, const Site&) = default;
};

// The innermost frame that is not library code; where all are, the innermost that is torch's; else the innermost.
// Builds no string. Takes the GIL.
Site site();

// The frame of `frames` that site() stands for, null if there is none.
const Frame* site_of(const std::vector<Frame>& frames);

// Such as "3.11.7", "" without a Python. Does not take the GIL.
std::string version();

// Folders whose files count as torch's, beside the one of the module `torch` in `sys.modules`. Called before the first
// question: what was judged before stays.
void set_library_prefixes(std::vector<std::string> prefixes);

// The Python error that ended the program.
struct Uncaught {
  std::string kind;          // as Python prints it: `RuntimeError`, `torch.OutOfMemoryError`
  std::string text;          // the exception's first argument if that is a string, else ""
  std::vector<Frame> stack;  // of its traceback, innermost first, at most 64
};

// A Python exception object, or for null the error that is pending on this thread, as `kind` and `text` of Uncaught say
// it, without its stack; both empty where Python cannot be asked. Takes the GIL; keeps no reference.
Uncaught describe_exception(void* exception);

// Has `function` called once before Python finalises, on the finalising thread without the GIL, with the error that was
// printed as uncaught (or was left in `sys` by whoever printed it: a debugger, a test runner), or null: no error,
// SystemExit, an interactive session. Afterwards Python is not asked again. By Python's own `atexit`; sys.excepthook is
// not touched. Not called where Python never finalises (os._exit, a signal, a C++ program that leaves it running).
// Where there is no Python yet, it is registered at the first question to one that has imported `atexit`, as torch
// does.
void at_exit(void (*function)(const Uncaught* error));

// In a forked child, on its only thread, before anything else here. A child of a fork that Python does not know of, on
// a thread that did not hold the GIL, asks nothing.
void after_fork_in_child();

}  // namespace device_audit::python
