// Times as the journal has them (nanoseconds since 1970) and as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace device_audit::report {

std::uint64_t now();

// "2026-11-30T16:20:11.402Z"
std::string in_utc(std::uint64_t nanoseconds);

// "20261130-162011", in UTC: what %t in the name of a directory stands for.
std::string for_file_name(std::uint64_t nanoseconds);

}  // namespace device_audit::report
