#include "hook/job.h"

#include <cstdlib>

#include "audit/settings.h"

namespace device_audit::core {
namespace {

struct Launcher {
  const char *rank, *size;
};
// The first whose rank is set counts: torchrun's before those of a cluster that started torchrun.
constexpr Launcher launchers[] = {{"RANK", "WORLD_SIZE"},
                                  {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                  {"PMI_RANK", "PMI_SIZE"},
                                  {"SLURM_PROCID", "SLURM_NTASKS"}};

std::optional<std::uint64_t> number_of(const char* Launcher::*variable) {
  for (const Launcher& launcher : launchers) {
    if (!std::getenv(launcher.rank)) continue;
    const char* value = std::getenv(launcher.*variable);
    return value ? parse_count(value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> job_rank() {
  return number_of(&Launcher::rank);
}
std::optional<std::uint64_t> job_size() {
  return number_of(&Launcher::size);
}

}  // namespace device_audit::core
