#include "hook/python/modules.h"

#include <vector>

#include "hook/python/text.h"

namespace device_audit::python {

void Modules::add(Object* root, const std::function<void(Object*, const Member&)>& found) {
  if (!places_.try_emplace(root).second) return;
  std::vector<Object*> waiting{root};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    Object* module = waiting[i];
    for (const Member& member : walk_.members_of(module)) {
      const Kind kind = walk_.kind_of(member.value);
      if (kind == Kind::tensor) found(module, member);
      if (kind != Kind::module || member.role != Role::submodule) continue;
      const auto [place, is_new] = places_.try_emplace(member.value, Place{module, member.key});
      if (is_new) {
        waiting.push_back(member.value);
      } else if (!place->second.parent && !is_inside(module, member.value)) {
        place->second = {module, member.key};  // a root so far: what holds it was seen later
      }
    }
  }
}

bool Modules::is_inside(Object* module, Object* other) const {
  while (module && module != other) module = places_.at(module).parent;
  return module != nullptr;
}

std::string Modules::path_of(Object* module) const {
  std::string path;
  for (Place place = places_.at(module); place.parent; place = places_.at(place.parent)) {
    path = text_of(walk_.python(), place.name) + (path.empty() ? "" : ".") + path;
  }
  return path;
}

}  // namespace device_audit::python
