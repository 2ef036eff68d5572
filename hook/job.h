// This process's place in a job, by the variables of the launchers.
#pragma once

#include <optional>

#include <cstdint>

namespace device_audit::core {

std::optional<std::uint64_t> job_rank();
std::optional<std::uint64_t> job_size();

}  // namespace device_audit::core
