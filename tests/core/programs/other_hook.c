// Another preloaded library that stands in front of __cxa_throw, as those of sanitizers and profilers do.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

__attribute__((visibility("default"))) void __cxa_throw(void* object, void* type, void (*destroy)(void*)) {
  static void (*original)(void*, void*, void (*)(void*));
  if (!original) {
    (void)!write(1, "another hook\n", 13);
    original = (void (*)(void*, void*, void (*)(void*)))dlsym(RTLD_NEXT, "__cxa_throw");
  }
  original(object, type, destroy);
  __builtin_unreachable();
}
