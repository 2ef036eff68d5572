// The one walk through the user's objects: what may hold a tensor, and what it holds. Under the GIL.
//
// No code of the user's runs: attributes are read from the dicts of objects and classes, items by the functions of
// dict, list and tuple themselves, whatever a subclass makes of them; nothing is looked up by a key, and an object is
// known by the bases of its class. References are borrowed: good while the GIL is held.
#pragma once

#include <array>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "hook/python/compat.h"

namespace device_audit::python {

enum class Kind : unsigned char {
  other,      // nothing that the walk goes into
  tensor,     // torch.Tensor or a subclass
  module,     // torch.nn.Module or a subclass
  container,  // dict, list, tuple, their subclasses, and any object of a class written in Python
};

// In what way a member is held; the first three by a module.
enum class Role : unsigned char { parameter, buffer, submodule, attribute, item };

struct Member {
  Role role;
  Object* key;           // the string that is its name, or the key of an item, which may be any object
  std::ptrdiff_t index;  // of an item without a key
  Object* value;
};

class Walk {
 public:
  // For torch's classes as they are imported now.
  explicit Walk(const Api& python);
  const Api& python() const { return python_; }
  bool knows_tensors() const { return bases_[tensor] != nullptr; }

  Kind kind_of(Object* object);

  // In the object's own order: its attributes, with a module's registered members where it keeps them, without its
  // hooks; its items (a named tuple's by field, those of a UserDict or UserList as if they were its own), at most 1024;
  // and tensors that are attributes of its class. Nothing for what is neither module nor container.
  std::vector<Member> members_of(Object* object);

  // How many members will yet be given out; at first none.
  void allow(int looks) { looks_left_ = looks; }
  int looks_left() const { return looks_left_; }

 private:
  enum Base : std::size_t {
    tensor,
    module,
    user_dict,
    user_list,
    name_space,
    dict,
    list,
    tuple,
    string,
    type,
    python_module,
    kBases
  };
  struct Store;  // an attribute that keeps what its object has as members

  struct Class {
    std::array<bool, kBases> derives{};
    bool has_attributes = false;
    Object* fields = nullptr;       // the names of a named tuple's
    std::vector<Variable> tensors;  // attributes of the class itself
  };

  bool is_a(Object* object, Base base) const;
  const Class& class_of(Object* object);
  bool is_written_in_python(Object* its_type) const;
  void read_attributes(Object* its_type, Class& into) const;
  void read_class(Object* its_type, Class& into) const;
  bool add(const Member& member);
  void add_attributes(Object* object, const Class& its);
  void add_items(Object* object, Role role);

  const Api& python_;
  std::array<Object*, kBases> bases_{};  // null: not imported
  std::unordered_map<Object*, Class> classes_;
  std::vector<Member> members_;  // being gathered
  int looks_left_ = 0;
};

}  // namespace device_audit::python
