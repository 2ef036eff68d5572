/* Opens libplugin.so by its bare name, which is searched along this library's own RPATH or RUNPATH, and by $ORIGIN. */
#include <dlfcn.h>

static const char* name_in(const char* file) {
  void* plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return dlerror();
  const char* (*name)(void) = (const char* (*)(void))dlsym(plugin, "name_of_plugin");
  return name();
}

__attribute__((visibility("default"))) const char* open_by_bare_name(void) {
  return name_in("libplugin.so");
}

__attribute__((visibility("default"))) const char* open_by_origin(void) {
  return name_in("$ORIGIN/plugins/libplugin.so");
}
