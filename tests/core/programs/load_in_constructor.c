// A library, or a program, whose constructor loads another library.
#include <dlfcn.h>
#include <stddef.h>

static void* inner;

__attribute__((constructor)) static void load(void) {
  inner = dlopen(INNER, RTLD_NOW);
}

__attribute__((visibility("default"))) const char* plugin(void) {
  return inner ? ((const char* (*)(void))dlsym(inner, "plugin"))() : dlerror();
}

#ifdef PROGRAM
#include <stdio.h>
int main(void) {
  return puts(plugin()) < 0;
}
#endif
