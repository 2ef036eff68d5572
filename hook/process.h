// Which process this is, after any number of forks, without asking the kernel.
#pragma once

#include <cstdint>

namespace device_audit::core {

struct ProcessIdentity {
  int pid;
  int parent;
  bool forked;  // the parent is the process that forked this one, after the audit had started there
};

extern ProcessIdentity identity;

// Once, when the audit starts: makes the page that a fork wipes, and registers for fork.
void start_process_identity();

// A number that differs in each process of a family of forks. In a child's first call it also brings `identity` up to
// date.
std::uint32_t process_number();

// Whether this is a child that shares its parent's memory (vfork): nothing may be written in the parent's name.
bool in_vfork_child();

// Around fork, in the order that bridge.h names for the part: the core's own locks are taken last and given back first.
struct ForkHandlers {
  void (*prepare)(), (*parent)(), (*child)();
};
extern ForkHandlers part_fork_handlers;

}  // namespace device_audit::core
