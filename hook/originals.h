// What the hooks stand in front of.
#pragma once

namespace device_audit::core {

struct Originals {
  void* (*dlopen)(const char*, int);
  void (*_exit)(int);
  void (*_Exit)(int);
  void (*abort)();
};

extern Originals originals;

// Looks them up, if not yet done. Takes the loader's lock, so it is called where the loader is called anyway: before
// main and in dlopen.
void find_originals();

}  // namespace device_audit::core
