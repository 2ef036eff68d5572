// Loads libraries and prints what came of it. usage: loads MODE LIBRARY...   MODE: now, deepbind or global
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

int main(int, char** arguments) {
  const bool deep = std::strcmp(arguments[1], "deepbind") == 0, global = std::strcmp(arguments[1], "global") == 0;
  const int mode = RTLD_NOW | (deep ? RTLD_DEEPBIND : 0) | (global ? RTLD_GLOBAL : RTLD_LOCAL);
  try {
    throw std::runtime_error("the program's own");
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
  }
  for (char** name = arguments + 2; *name; ++name) {
    void* library = dlopen(*name, mode);
    if (!library) {
      std::printf("%s\n", dlerror());
      continue;
    }
    const char* error = dlerror();
    std::printf("%s: %s\n", *name, error ? error : "loaded");
    if (auto* call = reinterpret_cast<int (*)(int)>(dlsym(library, "throw_and_catch"))) {
      for (int value = 1; value < 5; ++value) std::printf("%d ", call(value));
      std::printf("\n");
    }
    if (auto* plugin = reinterpret_cast<const char* (*)()>(dlsym(library, "plugin"))) std::printf("%s\n", plugin());
    dlclose(library);
  }
  std::printf("%s\n", dlopen(nullptr, RTLD_NOW) ? "itself" : dlerror());
}
