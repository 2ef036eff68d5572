#include "hook/torch/thrown.h"

#include <c10/util/Exception.h>
#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <typeinfo>

#include "hook/python/stack.h"
#include "hook/torch/native_stack.h"

namespace device_audit::hook {
namespace {

const void* vtable_of(const std::type_info& type) {
  return *reinterpret_cast<const void* const*>(&type);
}

// Whether `type` is a class described by the C++ runtime that torch uses: only then do its virtual functions mean what
// we think.
bool same_runtime(const std::type_info& type) {
  const void* vtable = vtable_of(type);
  return vtable == vtable_of(typeid(std::exception)) ||           // no base class
         vtable == vtable_of(typeid(c10::Error)) ||               // one base class
         vtable == vtable_of(typeid(std::basic_iostream<char>));  // several
}

// `object` as a pointer to a `Base`, null where it is none.
template <class Base>
const Base* as(const std::type_info& type, void* object) {
  void* adjusted = object;
  return typeid(Base).__do_catch(&type, &adjusted, 1) ? static_cast<const Base*>(adjusted) : nullptr;
}

std::string readable(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                         &std::free);
  return name ? name.get() : type.name();
}

// The text of classes whose what() is known to do no more than return it: another's could run user code, and the one of
// a Python error takes the GIL and calls its __str__.
std::string text_of(const std::type_info& type, void* object, const std::string& name) {
  if (const auto* error = as<c10::Error>(type, object)) return error->what_without_backtrace();
  const std::exception* known = as<std::runtime_error>(type, object);
  if (!known) known = as<std::logic_error>(type, object);
  if (!known && name.starts_with("torch::")) known = as<std::exception>(type, object);
  if (known) return known->what();
  return "";
}

// The Python exception that a C++ exception carries, none for any other; null where it still is the pending error of
// the thread. Both classes are laid out by the torch that we are built for, whose headers would want Python's.
std::optional<void*> python_exception_in(const std::string& type, void* object) {
  auto** words = static_cast<void**>(object);
  // std::exception's vtable pointer, then type, value and traceback
  if (type == "python_error") return words[2];
  // std::exception's vtable pointer, then a shared pointer to type, value and traceback
  if (type == "pybind11::error_already_set") return static_cast<void**>(words[1])[1];
  return std::nullopt;
}

}  // namespace

void keep(Thrown& thrown, void* object, const void* type_address) {
  ++thrown.serial;
  thrown.failure = {};
  thrown.of_python = false;
  thrown.native.clear();
  const auto& type = *static_cast<const std::type_info*>(type_address);
  if (!same_runtime(type)) return;
  thrown.failure.type = readable(type);
  if (const auto exception = python_exception_in(thrown.failure.type, object)) {
    thrown.of_python = true;
    const python::Uncaught error = python::describe_exception(*exception);
    thrown.failure = {error.kind, error.text};
  } else {
    thrown.failure.text = text_of(type, object, thrown.failure.type);
  }
  thrown.native = native_stack();
}

}  // namespace device_audit::hook
