// The torch.nn modules that a thread has in sight, and what is registered where. Under the GIL.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "hook/python/walk.h"

namespace device_audit::python {

class Modules {
 public:
  explicit Modules(Walk& walk) : walk_(walk) {}

  // Adds `root` and the modules registered below it, nearest first, as far as the walk is allowed. `found` is told each
  // tensor that a module not seen before has as parameter, buffer or attribute.
  void add(Object* root, const std::function<void(Object* module, const Member& tensor)>& found);

  // From the outermost module seen, such as "encoder.layers.3"; "" for that one itself.
  std::string path_of(Object* module) const;

 private:
  struct Place {
    Object* parent = nullptr;
    Object* name = nullptr;
  };
  bool is_inside(Object* module, Object* other) const;

  Walk& walk_;
  std::unordered_map<Object*, Place> places_;
};

}  // namespace device_audit::python
