// The core's table, as the parts of the adapter use it.
#pragma once

#include <string_view>

#include "hook/bridge.h"

namespace device_audit::hook {

// Set once, before anything is observed.
inline const device_audit_core* core = nullptr;

// While one is alive on a thread, nothing that the thread does is observed.
class Unobserved {
 public:
  Unobserved() : depth_(core->guard()) { ++*depth_; }
  ~Unobserved() { --*depth_; }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;

 private:
  int* depth_;
};

inline void say(device_audit_level level, std::string_view text) {
  core->say(level, text.data(), text.size());
}

}  // namespace device_audit::hook
