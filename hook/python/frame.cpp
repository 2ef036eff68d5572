#include "hook/python/frame.h"

#include "hook/python/source.h"
#include "hook/python/text.h"

namespace device_audit::python {
namespace {

constinit Attribute file_name{"co_filename"};

}  // namespace

Frame describe(const Api& python, Object* code, int line) {
  Reference file = file_name.of(python, code);
  Reference function = function_of(python, code);
  const Owner owner = file ? owner_of(python, file.get()) : Owner::user;
  return {.file = text_of(python, file.get()),
          .line = line,
          .function = text_of(python, function.get()),
          .code = {},
          .library = owner != Owner::user,
          .standard = owner == Owner::python};
}

Owner owner_of_code(const Api& python, Object* code) {
  Reference file = file_name.of(python, code);
  return file ? owner_of(python, file.get()) : Owner::user;
}

void read_code(std::vector<Frame>& frames) {
  for (Frame& frame : frames) frame.code = source_line(frame.file, frame.line);
}

}  // namespace device_audit::python
