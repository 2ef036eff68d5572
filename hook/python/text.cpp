#include "hook/python/text.h"

namespace device_audit::python {

std::string text_of(const Api& python, Object* string) {
  if (!string) return {};
  std::ptrdiff_t size = 0;
  if (const char* bytes = python.PyUnicode_AsUTF8AndSize(string, &size)) return {bytes, static_cast<std::size_t>(size)};
  python.PyErr_Clear();
  for (const char* errors : {"surrogateescape", "replace"}) {
    Reference encoded(python, python.PyUnicode_AsEncodedString(string, "utf-8", errors));
    char* bytes = nullptr;
    if (encoded && python.PyBytes_AsStringAndSize(encoded.get(), &bytes, &size) == 0) {
      return {bytes, static_cast<std::size_t>(size)};
    }
    python.PyErr_Clear();
  }
  return {};
}

bool is_exactly(const Api& python, Object* object, Object* type) {
  return object && Reference(python, python.PyObject_Type(object)).get() == type;
}

}  // namespace device_audit::python
