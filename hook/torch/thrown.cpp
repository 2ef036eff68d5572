#include "hook/torch/thrown.h"

#include <c10/util/Exception.h>
#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <typeinfo>

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

}  // namespace

void keep(Thrown& thrown, void* object, const void* type_address) {
  ++thrown.serial;
  thrown.failure = {};
  thrown.native.clear();
  const auto& type = *static_cast<const std::type_info*>(type_address);
  if (!same_runtime(type)) return;
  thrown.failure.type = readable(type);
  if (const auto* error = as<c10::Error>(type, object)) {
    thrown.failure.text = error->what_without_backtrace();
  } else if (const auto* exception = as<std::exception>(type, object)) {
    thrown.failure.text = exception->what();
  }
  thrown.native = native_stack();
}

}  // namespace device_audit::hook
