#include "hook/python/frame.h"

#include <unordered_set>

#include "hook/python/source.h"
#include "hook/python/text.h"

namespace device_audit::python {
namespace {

constinit Attribute file_name{"co_filename"};

// The names, beside its variables, that a code object mentions: of its module, and of attributes. Compared as objects:
// the compiler interns them, and assignments take its strings as keys.
std::unordered_set<Object*> mentioned_in(const Api& python, Object* code) {
  static constinit Attribute names_attribute{"co_names"};
  const Reference names = names_attribute.of(python, code);
  const std::ptrdiff_t count = names ? python.PyTuple_Size(names.get()) : 0;
  std::unordered_set<Object*> mentioned;
  for (std::ptrdiff_t i = 0; i < count; ++i) mentioned.insert(python.PyTuple_GetItem(names.get(), i));
  return mentioned;
}

}  // namespace

std::vector<Variable> names_in_sight(const Api& python, Object* frame, Object* code) {
  std::vector<Variable> sight = variables_of(python, frame, code);
  std::unordered_set<Object*> mentioned = mentioned_in(python, code);
  for (const Variable& variable : sight) mentioned.erase(variable.name);
  const Reference own = namespace_of(python, frame, code);
  const Reference globals = globals_of(python, frame);
  for (Object* dict : {own.get(), globals.get()}) {
    std::ptrdiff_t position = 0;
    Object* name;
    Object* value;
    while (dict && python.PyDict_Next(dict, &position, &name, &value)) {
      if (mentioned.erase(name)) sight.push_back({name, value});
    }
  }
  return sight;
}

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

std::size_t hash_of_line(const Api& python, Object* frame, Object* code) {
  const Reference file = file_name.of(python, code);
  std::ptrdiff_t size = 0;
  const char* bytes = file ? python.PyUnicode_AsUTF8AndSize(file.get(), &size) : nullptr;
  if (!bytes) python.PyErr_Clear();
  const std::string_view name(bytes ? bytes : "", bytes ? static_cast<std::size_t>(size) : 0);
  return std::hash<std::string_view>{}(name)*31 + static_cast<std::size_t>(python.PyFrame_GetLineNumber(frame));
}

Owner owner_of_code(const Api& python, Object* code) {
  Reference file = file_name.of(python, code);
  return file ? owner_of(python, file.get()) : Owner::user;
}

void read_code(std::vector<Frame>& frames) {
  for (Frame& frame : frames) frame.code = source_line(frame.file, frame.line);
}

}  // namespace device_audit::python
