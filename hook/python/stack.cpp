#include "hook/python/stack.h"

#include <array>
#include <exception>
#include <string_view>

#include "hook/python/frame.h"
#include "hook/python/session.h"

namespace device_audit::python {
namespace {

// How far out the user's own line is looked for: a stack of library code alone can be as deep as Python allows.
constexpr int kDeepestSite = 256;

}  // namespace

bool available() {
  return askable() != nullptr;
}

// Exceptions are caught by type, here and below: the one by which Python ends a thread has none, and must pass.
std::vector<Frame> stack(std::size_t limit) try {
  std::vector<Frame> frames;
  if (limit == 0) return frames;
  if (Session session; session) {
    const Api& python = session.python();
    visit_frames(python, [&](Object* frame, Object* code) {
      frames.push_back(describe(python, code, python.PyFrame_GetLineNumber(frame)));
      return frames.size() < limit;
    });
  }
  read_code(frames);
  return frames;
} catch (const std::exception&) {
  return {};
}

Site site() try {
  Session session;
  if (!session) return {};
  const Api& python = session.python();
  std::array<Site, 3> innermost{};  // by owner
  int left = kDeepestSite;
  visit_frames(python, [&](Object* frame, Object* code) {
    const Owner owner = owner_of_code(python, code);
    Site& place = innermost[static_cast<std::size_t>(owner)];
    if (!place.code) place = {code, instruction_of(python, frame), hash_of_line(python, frame, code)};
    return owner != Owner::user && --left > 0;
  });
  for (Owner owner : {Owner::user, Owner::torch, Owner::python}) {
    if (const Site& place = innermost[static_cast<std::size_t>(owner)]; place.code) return place;
  }
  return {};
} catch (const std::exception&) {
  return {};
}

const Frame* site_of(const std::vector<Frame>& frames) {
  const Frame* torch = nullptr;
  for (const Frame& frame : frames) {
    if (!frame.library) return &frame;
    if (!frame.standard && !torch) torch = &frame;
  }
  return torch || frames.empty() ? torch : &frames.front();
}

std::string version() try {
  const Api* python = api();
  if (!python) return {};
  const std::string_view whole = python->Py_GetVersion();  // "3.11.7 (main, ...) \n[GCC ...]"
  return std::string(whole.substr(0, whole.find(' ')));
} catch (const std::exception&) {
  return {};
}

void after_fork_in_child() {
  renew_in_child();
}

}  // namespace device_audit::python
