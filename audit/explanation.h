// A finding as a person reads it, on stderr and in the text report.
#pragma once

#include <string>
#include <string_view>

#include "audit/finding.h"

namespace device_audit {

// `path` as shown: relative to `folder` where it lies in it (an absolute path without a slash at its end, or empty).
std::string shown_path(std::string_view path, std::string_view folder);

// "train.py:42 in train_step"; without a function, "train.py:42".
std::string shown_place(const Place& place, std::string_view folder);

// The lines of `finding`, the first beginning with "device-audit: ", each ended by a line break. Columns that would be
// empty in every row and lines for what is not known are left out; runs of library frames are folded.
std::string explain(const Finding& finding, std::string_view folder);

}  // namespace device_audit
