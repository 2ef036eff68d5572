// The texts in which PyTorch says that operands are on the wrong device.
#pragma once

#include <string_view>

namespace device_audit {

// True where `text` is one that PyTorch uses for a wrong device, whether or not the word "device" is in it. A hint:
// what the operands' devices say comes first.
bool is_device_error(std::string_view text);

}  // namespace device_audit
