// The part that is built for the user's torch: found, checked, opened and started.
#pragma once

#include <cstdint>

#include "hook/elf.h"

namespace device_audit::core {

struct MappedTorch {
  const char* path;
  BuildId id;
};

// Once in the life of the process, on the thread that brought the torch, with the guard raised.
void start_audit(const MappedTorch& torch);

bool adapter_runs();

// Notes in the journal that `file` was opened with RTLD_DEEPBIND: it does not see our hooks (P8).
void report_hidden(const char* file);

// Tells the adapter of a C++ exception that is about to be thrown.
void report_throw(void* object, const void* type, std::uintptr_t runtime_base);

// Tells the adapter that this thread has called abort.
void report_abort();

// Lets the adapter write what it has not yet written. Once per process.
void finish_adapter();

// The folder of this library, without a slash at the end.
const char* own_folder();

}  // namespace device_audit::core
