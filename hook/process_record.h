// The members of the `process` record.
#pragma once

#include <string_view>

#include "hook/text.h"

namespace device_audit::core {

class ProcessRecord {
 public:
  ProcessRecord();
  ~ProcessRecord();
  ProcessRecord(const ProcessRecord&) = delete;
  ProcessRecord& operator=(const ProcessRecord&) = delete;

  std::string_view members() const { return text_.view(); }

 private:
  static constexpr std::size_t capacity = 256 * 1024;
  char small_[1024];  // where no memory can be had
  void* memory_;
  Text text_;
};

}  // namespace device_audit::core
