#include "hook/arrival.h"

#include <cstring>
#include <string_view>

#include "hook/adapter.h"
#include "hook/elf.h"
#include "hook/guard.h"
#include "hook/system.h"

namespace device_audit::core {

namespace {

enum Phase { before_main, waiting, arrived };
constinit int phase = before_main;
constinit unsigned long long seen_adds = 0;  // dlpi_adds at the last look

// The file name of the library that holds PyTorch's operators; a static build has them all in libtorch.so.
constexpr std::string_view torch_names[] = {"libtorch_cpu.so", "libtorch.so"};

struct Found {
  MappedTorch torch;
  int rank = 2;  // index in torch_names
};

bool torch_arrived(MappedTorch& torch) {
  Found found;
  bool first = true;
  unsigned long long adds = 0;
  for_each_object([&](const dl_phdr_info& object) {
    if (first) {
      first = false;
      adds = object.dlpi_adds;
      if (adds == __atomic_load_n(&seen_adds, __ATOMIC_RELAXED)) return false;
    }
    const char* name = std::strrchr(object.dlpi_name, '/');
    name = name ? name + 1 : object.dlpi_name;
    for (int rank = 0; rank < found.rank; ++rank) {
      if (torch_names[rank] == name) found = {{object.dlpi_name, build_id(object)}, rank};
    }
    return found.rank != 0;
  });
  torch = found.torch;
  if (found.rank == 2) __atomic_store_n(&seen_adds, adds, __ATOMIC_RELAXED);
  return found.rank < 2;
}

}  // namespace

void allow_arrival() {
  int expected = before_main;
  __atomic_compare_exchange_n(&phase, &expected, waiting, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void look_for_torch() {
  if (guard != 0 || __atomic_load_n(&phase, __ATOMIC_ACQUIRE) != waiting) return;
  ErrnoKept kept;
  MappedTorch torch;
  if (!torch_arrived(torch)) return;
  int expected = waiting;
  if (!__atomic_compare_exchange_n(&phase, &expected, arrived, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  Unobserved unobserved;
  start_audit(torch);
}

}  // namespace device_audit::core
