#include "hook/python/walk.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace device_audit::python {
namespace {

constexpr std::ptrdiff_t kWidest = 1024;  // items of one container
constexpr std::size_t kMostBases = 64;    // of one class

// Numbers of the stable ABI.
constexpr unsigned long kHeapType = 1UL << 9;  // Py_TPFLAGS_HEAPTYPE: what a class written in Python is
constexpr int kBasesSlot = 49;                 // Py_tp_bases

// Of an object or a class. From 3.11 on an object's may be made by this, as by any look at its `__dict__`.
Object* dict_of(const Api& python, Object* object) {
  Object** place = python._PyObject_GetDictPtr(object);
  return place ? *place : nullptr;
}

// Of a string; "" where it is no UTF-8. Lives as long as the string.
std::string_view view_of(const Api& python, Object* string) {
  std::ptrdiff_t size = 0;
  const char* bytes = python.PyUnicode_AsUTF8AndSize(string, &size);
  if (bytes) return {bytes, static_cast<std::size_t>(size)};
  python.PyErr_Clear();
  return {};
}

// A module's hooks hold no tensor that has a name.
bool is_for_hooks(std::string_view name) {
  return name.starts_with('_') && name.find("hook") != std::string_view::npos;
}

}  // namespace

struct Walk::Store {
  Base of;
  std::string_view attribute;
  Role role;

  static const Store all[];
};
constexpr Walk::Store Walk::Store::all[] = {
    {module, "_parameters", Role::parameter}, {module, "_buffers", Role::buffer}, {module, "_modules", Role::submodule},
    {user_dict, "data", Role::item},          {user_list, "data", Role::item},
};

Walk::Walk(const Api& python) : python_(python) {
  bases_[type] = python.PyType_Type;
  bases_[dict] = python.PyDict_Type;
  bases_[list] = python.PyList_Type;
  bases_[tuple] = python.PyTuple_Type;
  bases_[string] = python.PyUnicode_Type;
  bases_[python_module] = python.PyModule_Type;
  const auto imported = [&](const char* from, const char* name) {
    Object* found = member_of_module(python, from, name);
    return found && is_a(found, type) ? found : nullptr;
  };
  bases_[tensor] = imported("torch._C", "TensorBase");
  bases_[module] = imported("torch.nn.modules.module", "Module");
  bases_[user_dict] = imported("collections", "UserDict");
  bases_[user_list] = imported("collections", "UserList");
  bases_[name_space] = imported("types", "SimpleNamespace");
}

bool Walk::is_a(Object* object, Base base) const {
  const Reference its_type(python_, python_.PyObject_Type(object));
  return bases_[base] && python_.PyType_IsSubtype(its_type.get(), bases_[base]);
}

bool Walk::is_written_in_python(Object* its_type) const {
  return (python_.PyType_GetFlags(its_type) & kHeapType) != 0;
}

const Walk::Class& Walk::class_of(Object* object) {
  const Reference its_type(python_, python_.PyObject_Type(object));
  const auto [place, is_new] = classes_.try_emplace(its_type.get());
  Class& its = place->second;
  if (!is_new) return its;
  for (std::size_t base = 0; base < kBases; ++base) {
    its.derives[base] = bases_[base] && python_.PyType_IsSubtype(its_type.get(), bases_[base]);
  }
  const bool is_left_alone = its.derives[tensor] || its.derives[type] || its.derives[python_module];
  its.has_attributes = !is_left_alone && (is_written_in_python(its_type.get()) || its.derives[name_space]);
  if (its.has_attributes) read_class(its_type.get(), its);
  return its;
}

void Walk::read_attributes(Object* its_type, Class& into) const {
  std::ptrdiff_t position = 0;
  Object* name;
  Object* value;
  Object* attributes = dict_of(python_, its_type);
  while (attributes && python_.PyDict_Next(attributes, &position, &name, &value)) {
    if (!is_a(name, string)) continue;
    if (is_a(value, tensor)) into.tensors.push_back({name, value});
    const bool may_be_fields = into.derives[tuple] && !into.fields && is_a(value, tuple);
    if (may_be_fields && view_of(python_, name) == "_fields") into.fields = value;
  }
}

// And its bases, each once, however often it is a base of theirs.
void Walk::read_class(Object* its_type, Class& into) const {
  std::vector<Object*> classes{its_type};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    Object* one = classes[i];
    if (!is_written_in_python(one) || one == bases_[module]) continue;
    read_attributes(one, into);
    auto* bases = static_cast<Object*>(python_.PyType_GetSlot(one, kBasesSlot));
    const std::ptrdiff_t count = bases ? python_.PyTuple_Size(bases) : 0;
    for (std::ptrdiff_t j = 0; j < count && classes.size() < kMostBases; ++j) {
      Object* base = python_.PyTuple_GetItem(bases, j);
      if (std::ranges::find(classes, base) == classes.end()) classes.push_back(base);
    }
  }
}

Kind Walk::kind_of(Object* object) {
  const Class& its = class_of(object);
  if (its.derives[tensor]) return Kind::tensor;
  if (its.derives[module]) return Kind::module;
  const bool has_items = its.derives[dict] || its.derives[list] || its.derives[tuple];
  return has_items || its.has_attributes ? Kind::container : Kind::other;
}

std::vector<Member> Walk::members_of(Object* object) {
  members_.clear();
  const Class& its = class_of(object);
  if (its.has_attributes) add_attributes(object, its);
  add_items(object, Role::item);
  for (const Variable& attribute : its.tensors) add({Role::attribute, attribute.name, 0, attribute.value});
  return std::move(members_);
}

bool Walk::add(const Member& member) {
  if (looks_left_ <= 0) return false;
  --looks_left_;
  if (member.value) members_.push_back(member);
  return true;
}

void Walk::add_attributes(Object* object, const Class& its) {
  Object* attributes = dict_of(python_, object);
  std::ptrdiff_t position = 0;
  Object* key;
  Object* value;
  while (attributes && python_.PyDict_Next(attributes, &position, &key, &value)) {
    if (!is_a(key, string)) continue;
    const std::string_view name = view_of(python_, key);
    if (its.derives[module] && is_for_hooks(name)) continue;
    const auto* store = std::ranges::find_if(
        Store::all, [&](const Store& one) { return its.derives[one.of] && one.attribute == name; });
    if (store != std::end(Store::all)) {
      add_items(value, store->role);
    } else if (!add({Role::attribute, key, 0, value})) {
      return;
    }
  }
}

void Walk::add_items(Object* object, Role role) {
  const Class& its = class_of(object);
  const std::ptrdiff_t most = role == Role::item ? kWidest : looks_left_;
  std::ptrdiff_t index = 0;
  if (its.derives[dict]) {
    std::ptrdiff_t position = 0;
    Object* key;
    Object* value;
    while (index++ < most && python_.PyDict_Next(object, &position, &key, &value)) {
      if (!add({role, key, 0, value})) return;
    }
  } else if (its.derives[list]) {
    const std::ptrdiff_t count = std::min(python_.PyList_Size(object), most);
    while (index < count && add({role, nullptr, index, python_.PyList_GetItem(object, index)})) ++index;
  } else if (its.derives[tuple]) {
    const std::ptrdiff_t count = std::min(python_.PyTuple_Size(object), most);
    const std::ptrdiff_t named = its.fields ? std::min(python_.PyTuple_Size(its.fields), count) : 0;
    for (; index < named; ++index) {
      add({Role::attribute, python_.PyTuple_GetItem(its.fields, index), 0, python_.PyTuple_GetItem(object, index)});
    }
    while (index < count && add({role, nullptr, index, python_.PyTuple_GetItem(object, index)})) ++index;
  }
}

}  // namespace device_audit::python
