#include "hook/python/owner.h"

#include <array>
#include <atomic>
#include <cstdint>

#include "hook/python/stack.h"
#include "hook/python/text.h"

namespace device_audit::python {
namespace {

// What the adapter named. Replaced as a whole and never freed: another thread may read the one before.
constinit std::atomic<const std::vector<std::string>*> named{nullptr};

// One name in each place, and its owner in the lowest bits of its address.
constexpr std::size_t kPlaces = 1024;
constexpr std::uintptr_t kOwnerBits = 3;
constinit std::array<std::atomic<std::uintptr_t>, kPlaces> remembered{};

bool is_inside(std::string_view file, std::string_view folder) {
  return !folder.empty() && file.size() > folder.size() && file.starts_with(folder) && file[folder.size()] == '/';
}

std::string folder_of(std::string file) {
  const std::size_t slash = file.rfind('/');
  file.resize(slash == std::string::npos ? 0 : slash);
  return file;
}

// Where the package or module came from.
std::string folder_of_module(const Api& python, const char* name) {
  return folder_of(text_of(python, member_of_module(python, name, "__file__")));
}

Folders folders(const Api& python) {
  Folders found;
  if (const auto* list = named.load(std::memory_order_acquire)) found.torch = *list;
  found.torch.push_back(folder_of_module(python, "torch"));  // as code objects spell it, which may go through links
  found.python = folder_of_module(python, "os");
  return found;
}

}  // namespace

Owner owner_of(std::string_view file, const Folders& folders) {
  if (file.starts_with("<frozen ")) return Owner::python;
  if (file.starts_with("<eval_with_key>")) return Owner::torch;  // written by torch.fx
  for (const std::string& folder : folders.torch) {
    if (is_inside(file, folder)) return Owner::torch;
  }
  if (!is_inside(file, folders.python)) return Owner::user;
  const std::string_view rest = file.substr(folders.python.size() + 1);
  return rest.starts_with("site-packages/") || rest.starts_with("dist-packages/") ? Owner::user : Owner::python;
}

Owner owner_of(const Api& python, Object* file) {
  const auto address = reinterpret_cast<std::uintptr_t>(file);
  auto& place = remembered[(address >> 4 ^ address >> 14) % kPlaces];
  const std::uintptr_t known = place.load(std::memory_order_acquire);
  if ((known & ~kOwnerBits) == address) return static_cast<Owner>(known & kOwnerBits);

  const Owner owner = owner_of(text_of(python, file), folders(python));
  python.Py_IncRef(file);
  const std::uintptr_t before = place.exchange(address | static_cast<std::uintptr_t>(owner), std::memory_order_acq_rel);
  if (before) python.Py_DecRef(reinterpret_cast<Object*>(before & ~kOwnerBits));
  return owner;
}

void set_library_prefixes(std::vector<std::string> prefixes) {
  for (std::string& prefix : prefixes) {
    while (prefix.ends_with('/')) prefix.pop_back();
  }
  named.store(new std::vector<std::string>(std::move(prefixes)), std::memory_order_release);
}

}  // namespace device_audit::python
