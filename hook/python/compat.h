// The Python in this process, and everything that differs between versions of CPython: nothing outside compat knows a
// version. Python's headers are not used. One build serves CPython 3.9 to 3.14 and C++ programs that have no Python:
// functions are found in the running process by name (dlsym), and no struct of Python's is read, so that no layout of a
// version is relied on (pitfall P35), but for one: the frame, up to 3.11, which was the last without a function for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace device_audit::python {

struct Object;       // PyObject and all that begins with one
struct ThreadState;  // PyThreadState
struct Interpreter;  // PyInterpreterState

// PyMethodDef, whose layout the stable ABI fixes.
struct Method {
  const char* name;
  Object* (*function)(Object* self, Object* arguments);
  int flags;
  const char* doc;
};
inline constexpr int kNoArguments = 0x0004;  // METH_NOARGS

// X(first minor version of 3.x that has it, type, name, its name in older versions or ""): the C API that is used.
// A version that lacks one that it should have is not used at all. Who answers for older versions stands below.
#define DEVICE_AUDIT_PYTHON_API(X)                                                               \
  X(9, const char* (*)(), Py_GetVersion, "")                                                     \
  X(9, int (*)(), Py_IsInitialized, "")                                                          \
  X(9, int (*)(), Py_IsFinalizing, "_Py_IsFinalizing")                                           \
  X(9, void (*)(Object*), Py_IncRef, "")                                                         \
  X(9, void (*)(Object*), Py_DecRef, "")                                                         \
  X(9, Object* (*)(const char*, ...), Py_BuildValue, "")                                         \
  X(9, int (*)(), PyGILState_Ensure, "")                                                         \
  X(9, void (*)(int), PyGILState_Release, "")                                                    \
  X(9, int (*)(), PyGILState_Check, "")                                                          \
  X(9, ThreadState* (*)(), PyGILState_GetThisThreadState, "")                                    \
  X(9, ThreadState* (*)(), PyEval_SaveThread, "")                                                \
  X(9, void (*)(ThreadState*), PyEval_RestoreThread, "")                                         \
  X(9, ThreadState* (*)(), PyThreadState_GetUnchecked, "_PyThreadState_UncheckedGet")            \
  X(9, Interpreter* (*)(ThreadState*), PyThreadState_GetInterpreter, "")                         \
  X(9, Interpreter* (*)(), PyInterpreterState_Main, "")                                          \
  X(9, Interpreter* (*)(), PyInterpreterState_Head, "")                                          \
  X(9, Object* (*)(ThreadState*), PyThreadState_GetFrame, "")                                    \
  X(9, Object* (*)(Object*), PyFrame_GetBack, "")                                                \
  X(9, Object* (*)(Object*), PyFrame_GetCode, "")                                                \
  X(9, int (*)(Object*), PyFrame_GetLineNumber, "")                                              \
  X(11, int (*)(Object*), PyFrame_GetLasti, "")            /* before: instruction_of() */        \
  X(11, Object* (*)(Object*), PyFrame_GetGlobals, "")      /* before: globals_of() */            \
  X(11, Object* (*)(Object*), PyFrame_GetLocals, "")       /* before: namespace_of() */          \
  X(12, Object* (*)(Object*, Object*), PyFrame_GetVar, "") /* before: variables_of() */          \
  X(9, Object* (*)(Object*), PyCell_Get, "")                                                     \
  X(9, Object* (*)(Object*, Object*), PyObject_GetAttr, "")                                      \
  X(9, Object* (*)(Object*), PyObject_Type, "")                                                  \
  X(9, Object* (*)(Object*, ...), PyObject_CallFunctionObjArgs, "")                              \
  X(9, Object** (*)(Object*), _PyObject_GetDictPtr, "")                                          \
  X(9, int (*)(Object*, Object*), PyType_IsSubtype, "")                                          \
  X(9, unsigned long (*)(Object*), PyType_GetFlags, "")                                          \
  X(9, void* (*)(Object*, int), PyType_GetSlot, "")                                              \
  X(9, const char* (*)(Object*), _PyType_Name, "")                                               \
  X(9, Object* (*)(const char*), PyUnicode_InternFromString, "")                                 \
  X(9, const char* (*)(Object*, std::ptrdiff_t*), PyUnicode_AsUTF8AndSize, "")                   \
  X(9, Object* (*)(Object*, const char*, const char*), PyUnicode_AsEncodedString, "")            \
  X(9, int (*)(Object*, char**, std::ptrdiff_t*), PyBytes_AsStringAndSize, "")                   \
  X(9, long (*)(Object*), PyLong_AsLong, "")                                                     \
  X(9, long (*)(Object*, int*), PyLong_AsLongAndOverflow, "")                                    \
  X(9, std::ptrdiff_t (*)(Object*), PyTuple_Size, "")                                            \
  X(9, Object* (*)(Object*, std::ptrdiff_t), PyTuple_GetItem, "")                                \
  X(9, std::ptrdiff_t (*)(Object*), PyList_Size, "")                                             \
  X(9, Object* (*)(Object*, std::ptrdiff_t), PyList_GetItem, "")                                 \
  X(9, Object* (*)(Object*, const char*), PyDict_GetItemString, "")                              \
  X(9, int (*)(Object*, std::ptrdiff_t*, Object**, Object**), PyDict_Next, "")                   \
  X(9, Object* (*)(Object*), PyModule_GetDict, "")                                               \
  X(9, Object* (*)(const char*), PySys_GetObject, "")                                            \
  X(9, Object* (*)(const char*, Object*, Object*, Object*, int), PyImport_ImportModuleLevel, "") \
  X(9, Object* (*)(Method*, Object*, Object*), PyCFunction_NewEx, "")                            \
  X(9, Object* (*)(Object*), PyException_GetTraceback, "")                                       \
  X(9, void (*)(), PyErr_Clear, "")                                                              \
  X(9, void (*)(Object**, Object**, Object**), PyErr_Fetch, "")                                  \
  X(9, void (*)(Object*, Object*, Object*), PyErr_Restore, "")                                   \
  X(12, Object* (*)(), PyErr_GetRaisedException, "") /* before: PendingError uses PyErr_Fetch */ \
  X(12, void (*)(Object*), PyErr_SetRaisedException, "")                                         \
  X(10, int (*)(), PyGC_Disable, "") /* before: nothing that we call makes a container object */ \
  X(10, int (*)(), PyGC_Enable, "")                                                              \
  X(9, Object**, PyExc_BaseException, "")                                                        \
  X(9, Object*, PyType_Type, "")                                                                 \
  X(9, Object*, PyUnicode_Type, "")                                                              \
  X(9, Object*, PyTuple_Type, "")                                                                \
  X(9, Object*, PyList_Type, "")                                                                 \
  X(9, Object*, PyDict_Type, "")                                                                 \
  X(9, Object*, PyLong_Type, "")                                                                 \
  X(9, Object*, PyModule_Type, "")                                                               \
  X(9, Object*, PyCell_Type, "")                                                                 \
  X(9, Object*, PyFrame_Type, "")                                                                \
  X(9, Object*, PyTraceBack_Type, "")

// One Python that is mapped into this process. A member is null where the version lacks it.
struct Api {
  int minor;  // of 3.x
#define DEVICE_AUDIT_PYTHON_MEMBER(since, type, name, older) std::type_identity_t<type> name;
  DEVICE_AUDIT_PYTHON_API(DEVICE_AUDIT_PYTHON_MEMBER)
#undef DEVICE_AUDIT_PYTHON_MEMBER
};

// The Python of this process; null where there is none (yet), or one older than 3.9. Any thread, with or without the
// GIL.
const Api* api();

// The same if it was found before; it is not looked for.
const Api* known_api();

// Whether PyGILState_Ensure is right on this thread now: it has a state, of the main interpreter, which is not
// finalising. Without the GIL.
bool may_ask(const Api& python);

// An owned reference, or null. Made and destroyed under the GIL.
class Reference {
 public:
  Reference() = default;
  Reference(const Api& python, Object* owned) : python_(&python), object_(owned) {}
  Reference(Reference&& other) noexcept : python_(other.python_), object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(python_, other.python_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() {
    if (object_) python_->Py_DecRef(object_);
  }
  static Reference of(const Api& python, Object* borrowed) {
    if (borrowed) python.Py_IncRef(borrowed);
    return {python, borrowed};
  }
  Object* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  const Api* python_ = nullptr;
  Object* object_ = nullptr;
};

// The name of an attribute, made into a Python string once. Only for objects of CPython's own types: their attributes
// run no user code.
class Attribute {
 public:
  constexpr explicit Attribute(const char* name) : name_(name) {}
  // Null, with no error pending, where the object has none.
  Reference of(const Api& python, Object* object);

 private:
  const char* name_;
  std::atomic<Object*> string_{nullptr};
};

// The error that is pending on this thread, taken off it and put back at the end of the scope.
class PendingError {
 public:
  explicit PendingError(const Api& python);
  ~PendingError();
  PendingError(const PendingError&) = delete;
  PendingError& operator=(const PendingError&) = delete;

  Object* value() const { return value_; }

 private:
  const Api& python_;
  Object* type_ = nullptr;
  Object* value_ = nullptr;  // the only one that is used where PyErr_GetRaisedException is
  Object* traceback_ = nullptr;
};

// The cyclic collector, off for the scope: a collection would run finalisers, which are user code.
class NoCollection {
 public:
  explicit NoCollection(const Api& python);
  ~NoCollection();
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;

 private:
  const Api& python_;
  bool was_enabled_ = false;
};

// Where in its code a frame stands: the same number each time the same call is made. Its line, before 3.11.
int instruction_of(const Api& python, Object* frame);

// The name of a code object's function, with its classes (`Net.forward`) from 3.11 on. Null on failure.
Reference function_of(const Api& python, Object* code);

// What an imported module has under a name, by dicts alone: no import, no attribute. Borrowed; null, with no error
// pending, where there is none.
Object* member_of_module(const Api& python, const char* module, const char* name);

// Whether the GIL keeps all other threads out of Python's objects.
bool has_gil(const Api& python);

// A name and what it stands for. Borrowed: both live while the frame that they were read from stays where it is.
struct Variable {
  Object* name;
  Object* value;
};

// The bound variables of a function's frame on this thread: its own, arguments first, then those that it shares with
// other functions. Not by `f_locals`, which before 3.13 keeps deleted variables alive and overwrites an edited
// `locals()`. Empty where the slots of a frame are not where its version has them.
std::vector<Variable> variables_of(const Api& python, Object* frame, Object* code);

// The dict, if it is one, in which code that is no function keeps its variables (a module, a class, what `exec` runs).
// Null for code that has variables of a function too, as asking would write those into the dict.
Reference namespace_of(const Api& python, Object* frame, Object* code);
Reference globals_of(const Api& python, Object* frame);

// What the interpreter, or whoever else prints the error that ends a program, left in `sys`. Null where nothing, or no
// exception, was left.
Reference last_exception(const Api& python);

}  // namespace device_audit::python
