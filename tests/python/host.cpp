// A C++ program with its own Python: host [libpython [code]]. Says what hook/python sees before, with and after it;
// without arguments, with none.
#include <dlfcn.h>

#include <cstdio>
#include <thread>

#include "hook/python/stack.h"

namespace python = device_audit::python;

namespace {

void say(const char* when) {
  std::printf("%s: version '%s' available %d frames %zu site %d\n", when, python::version().c_str(),
              python::available(), python::stack().size(), python::site().code != nullptr);
}

void ended(const python::Uncaught* error) {
  std::printf("ended: %s\n",
              error ? (error->kind + ": " + error->text + " in " + error->stack.at(0).function).c_str() : "none");
}

// PyMethodDef
struct Method {
  const char* name;
  void* (*function)(void*, void*);
  int flags;
  const char* doc;
};
Method method{"ask", nullptr, 0x0004 /* METH_NOARGS */, nullptr};
void* (*none)(const char*, ...);

}  // namespace

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  python::at_exit(&ended);
  say("before");
  if (count < 2) return 0;
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::puts(dlerror()), 2;
  auto function = [&](const char* name) { return dlsym(library, name); };
  say("mapped");
  reinterpret_cast<void (*)(int)>(function("Py_InitializeEx"))(0);
  say("initialised");
  if (count > 2) {
    // `ask` in __main__. Not through ctypes, which does not find a Python that is RTLD_LOCAL.
    none = reinterpret_cast<void* (*)(const char*, ...)>(function("Py_BuildValue"));
    method.function = [](void*, void*) { return say("inside"), none(""); };
    void* ask =
        reinterpret_cast<void* (*)(Method*, void*, void*)>(function("PyCFunction_NewEx"))(&method, nullptr, nullptr);
    void* module = reinterpret_cast<void* (*)(const char*)>(function("PyImport_AddModule"))("__main__");
    reinterpret_cast<int (*)(void*, const char*, void*)>(function("PyObject_SetAttrString"))(module, "ask", ask);
    using Run = int (*)(const char*, void*);
    std::printf("run: %d\n", reinterpret_cast<Run>(function("PyRun_SimpleStringFlags"))(arguments[2], nullptr));
  }
  std::thread([] { say("native thread"); }).join();
  std::printf("finalised: %d\n", reinterpret_cast<int (*)()>(function("Py_FinalizeEx"))());
  say("after");
  return 0;
}
