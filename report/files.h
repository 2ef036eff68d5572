// Files as they may lie in a directory that others can write to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace device_audit::report {

enum class Links { follow, refuse };

// A descriptor of the regular file `path`, opened for reading; -1 with errno where it cannot be read or is something
// else (a pipe would block).
int open_regular(const std::string& path, Links links);

// The bytes of a regular file, at most `limit` of them; nothing, with errno, where it cannot be read.
std::optional<std::string> read_file(const std::string& path, Links links, std::size_t limit = SIZE_MAX);

// Puts `content` where `path` is: whole or not at all, readable by its owner alone. Returns 0 or an errno.
int replace_file(const std::string& path, std::string_view content);

// Writes all of `content`. Returns 0 or an errno.
int write_all(int fd, std::string_view content);

}  // namespace device_audit::report
