// The per-thread guard: while it is not 0 the thread runs our own code, and no hook does more than forward (P11).
#pragma once

namespace device_audit::core {

// Constant-initialised and without a destructor (P10); initial-exec, so that reading it allocates nothing (P9).
extern constinit thread_local int guard __attribute__((tls_model("initial-exec")));

class Unobserved {
 public:
  Unobserved() { ++guard; }
  ~Unobserved() { --guard; }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;
};

}  // namespace device_audit::core
