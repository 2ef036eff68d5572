// The outermost dlopen call that this thread is in. While it is in progress the constructors of what it loads may be
// running, a libtorch's among them: not the moment to start anything.
#pragma once

namespace device_audit::core {

class LoaderCall {
 public:
  // Whether a call that this thread noted may still be in progress at `position` on its stack.
  static bool in_progress(void** position);

  // `slot`: where on the stack the return address of the call lies.
  static void begin(void** slot);
  static void end(void** slot);
};

}  // namespace device_audit::core
