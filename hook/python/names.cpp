#include "hook/python/names.h"

#include <algorithm>
#include <exception>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "hook/python/expression.h"
#include "hook/python/frame.h"
#include "hook/python/modules.h"
#include "hook/python/session.h"
#include "hook/python/source.h"
#include "hook/python/text.h"
#include "hook/python/walk.h"

namespace device_audit::python {
namespace {

constexpr int kMostFrames = 64;
constexpr int kDeepest = 4;              // containers in containers
constexpr int kLooksForModules = 8'000;  // a model of that many members is seen in part, the called modules first
constexpr int kLooksForNames = 12'000;   // each frame may use half of what is left
constexpr std::size_t kMostCandidates = 16;

enum class Match : unsigned char { none, storage, object };

// A frame whose names are the user's, or in which a module is called.
struct Scope {
  int index = 0;                    // in the stack
  std::optional<Frame> frame;       // of the user's
  std::vector<Variable> variables;  // of the user's frame
  Object* module = nullptr;         // called in it
};

// torch.nn calls a module in a frame of this function, whose `self` is the module.
bool calls_a_module(const Api& python, Object* code) {
  static constinit Attribute name{"co_name"};
  const std::string function = text_of(python, name.of(python, code).get());
  return function == "_call_impl" || function == "forward";
}

std::vector<Scope> scopes_of(Walk& walk) {
  const Api& python = walk.python();
  std::vector<Scope> scopes;
  int index = 0;
  visit_frames(python, [&](Object* frame, Object* code) {
    Scope scope;
    scope.index = index;
    if (calls_a_module(python, code)) {
      for (const Variable& variable : variables_of(python, frame, code)) {
        const bool is_called = text_of(python, variable.name) == "self" && walk.kind_of(variable.value) == Kind::module;
        if (is_called) scope.module = variable.value;
      }
    }
    if (owner_of_code(python, code) == Owner::user) {
      scope.frame = describe(python, code, python.PyFrame_GetLineNumber(frame));
      scope.variables = names_in_sight(python, frame, code);
    }
    if (scope.frame || scope.module) scopes.push_back(std::move(scope));
    return ++index < kMostFrames;
  });
  return scopes;
}

struct Candidate {
  std::string name;
  int steps;
  Object* holder;  // the last thing before the last step, null for a variable
};

// What is known of one tensor that is sought.
struct Findings {
  Match named = Match::none;
  const Scope* scope = nullptr;       // in which it is named
  std::vector<Candidate> candidates;  // in the order of the search

  Match held = Match::none;
  Object* module = nullptr;  // that holds it
  Object* attribute = nullptr;
  Role role = Role::attribute;
};

class Search {
 public:
  Search(Walk& walk, const std::vector<Sought>& sought, const void* (*storage_of)(const void*))
      : walk_(walk), modules_(walk), sought_(sought), storage_of_(storage_of), findings_(sought.size()) {
    by_storage_ = storage_of && std::ranges::any_of(sought, [](const Sought& one) { return one.storage != nullptr; });
  }

  void add_modules(const Scope& scope);
  void look_in(const Scope& scope);
  bool is_complete() const;
  Named named(std::size_t i) const;
  InModule place_of(Object* module) const;
  std::vector<Findings>& findings() { return findings_; }

 private:
  // A step of the search: how `member` was reached.
  struct Node {
    int from;  // the node that holds it; -1: it is a variable
    Member member;
    int steps;
    int containers;
  };

  template <class Found>
  void match(Object* tensor, Found found);
  void add_module(Object* module);
  void look_at(const Scope& scope, const std::vector<Node>& nodes, int node);
  std::string name_of(const std::vector<Node>& nodes, int node) const;

  Walk& walk_;
  Modules modules_;
  const std::vector<Sought>& sought_;
  const void* (*storage_of_)(const void*);
  bool by_storage_;
  std::vector<Findings> findings_;
  std::unordered_set<Object*> entered_;
};

// Calls `found(findings, match)` for those sought that it is.
template <class Found>
void Search::match(Object* tensor, Found found) {
  const void* storage = by_storage_ ? storage_of_(tensor) : nullptr;
  for (std::size_t i = 0; i < sought_.size(); ++i) {
    if (sought_[i].object == tensor) {
      found(findings_[i], Match::object);
    } else if (storage && sought_[i].storage == storage) {
      found(findings_[i], Match::storage);
    }
  }
}

void Search::add_module(Object* module) {
  modules_.add(module, [&](Object* holder, const Member& tensor) {
    match(tensor.value, [&](Findings& findings, Match how) {
      const bool is_registered = tensor.role != Role::attribute;
      if (std::pair(how, is_registered) <= std::pair(findings.held, findings.role != Role::attribute)) return;
      findings.held = how;
      findings.module = holder;
      findings.attribute = tensor.key;
      findings.role = tensor.role;
    });
  });
}

void Search::add_modules(const Scope& scope) {
  if (scope.module) add_module(scope.module);
  for (const Variable& variable : scope.variables) {
    if (walk_.kind_of(variable.value) == Kind::module) add_module(variable.value);
  }
}

std::string Search::name_of(const std::vector<Node>& nodes, int node) const {
  const Node& last = nodes[static_cast<std::size_t>(node)];
  if (last.from < 0) return text_of(walk_.python(), last.member.key);
  return name_of(nodes, last.from) + step_to(walk_.python(), last.member);
}

void Search::look_at(const Scope& scope, const std::vector<Node>& nodes, int node) {
  const Node& at = nodes[static_cast<std::size_t>(node)];
  match(at.member.value, [&](Findings& findings, Match how) {
    if (how < findings.named) return;
    if (how > findings.named) {
      findings.named = how;
      findings.scope = &scope;
      findings.candidates.clear();
    }
    if (findings.scope != &scope || findings.candidates.size() == kMostCandidates) return;
    Object* holder = at.from < 0 ? nullptr : nodes[static_cast<std::size_t>(at.from)].member.value;
    findings.candidates.push_back({name_of(nodes, node), at.steps, holder});
  });
}

// Nearest first. What was entered from an inner frame has a better name there.
void Search::look_in(const Scope& scope) {
  std::vector<Node> nodes;
  for (const auto& [name, value] : scope.variables) {
    nodes.push_back({.from = -1, .member = {Role::attribute, name, 0, value}, .steps = 0, .containers = 0});
  }
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node node = nodes[static_cast<std::size_t>(i)];
    Object* object = node.member.value;
    const Kind kind = walk_.kind_of(object);
    if (kind == Kind::tensor) look_at(scope, nodes, i);
    if (kind != Kind::module && (kind != Kind::container || node.containers == kDeepest)) continue;
    if (!entered_.insert(object).second) continue;
    if (kind == Kind::module) add_module(object);
    const int containers = node.containers + (kind == Kind::container ? 1 : 0);
    for (const Member& member : walk_.members_of(object)) {
      if (walk_.kind_of(member.value) == Kind::other) continue;
      nodes.push_back({.from = i, .member = member, .steps = node.steps + 1, .containers = containers});
    }
  }
}

bool Search::is_complete() const {
  for (std::size_t i = 0; i < sought_.size(); ++i) {
    const Match best = sought_[i].object                   ? Match::object
                       : by_storage_ && sought_[i].storage ? Match::storage
                                                           : Match::none;
    if (findings_[i].named < best) return false;
  }
  return true;
}

InModule Search::place_of(Object* module) const {
  const Api& python = walk_.python();
  const Reference type(python, python.PyObject_Type(module));
  return {modules_.path_of(module), python._PyType_Name(type.get())};
}

// All but the name, which the source line has a say in.
Named Search::named(std::size_t i) const {
  const Findings& its = findings_[i];
  Named named;
  named.same_object = std::max(its.named, its.held) == Match::object;
  if (its.held == Match::none) return named;
  named.parameter = its.role == Role::parameter;
  named.buffer = its.role == Role::buffer;
  named.plain_attribute = its.role == Role::attribute;
  if (named.plain_attribute) return named;
  const std::string path = modules_.path_of(its.module);
  named.module_path = (path.empty() ? "" : path + ".") + text_of(walk_.python(), its.attribute);
  return named;
}

// Without the GIL, as the line is read from a file. `lines`: those read before, by the frame's index.
const std::string& best_of(const Findings& findings, std::map<int, std::string>& lines) {
  const std::vector<Candidate>& candidates = findings.candidates;
  if (candidates.size() == 1) return candidates.front().name;
  const Scope& scope = *findings.scope;
  if (!lines.contains(scope.index)) lines[scope.index] = source_line(scope.frame->file, scope.frame->line);
  const std::string& line = lines[scope.index];
  const auto order = [&](const Candidate& candidate) {
    return std::tuple(!stands_in(line, candidate.name), candidate.steps, candidate.holder != findings.module);
  };
  return std::ranges::min_element(candidates, {}, order)->name;
}

}  // namespace

Names names_of(const std::vector<Sought>& sought, const void* (*storage_of)(const void* tensor_object)) try {
  Names names;
  names.tensors.resize(sought.size());
  std::vector<Scope> scopes;
  std::vector<Findings> findings;
  if (Session session; session && has_gil(session.python())) {
    Walk walk(session.python());
    if (!walk.knows_tensors()) return names;
    Search search(walk, sought, storage_of);
    scopes = scopes_of(walk);
    walk.allow(kLooksForModules);
    for (const Scope& scope : scopes) search.add_modules(scope);
    int looks = kLooksForNames;
    for (const Scope& scope : scopes) {
      if (search.is_complete()) break;
      walk.allow(looks / 2);
      search.look_in(scope);
      looks -= looks / 2 - walk.looks_left();
    }
    for (std::size_t i = 0; i < sought.size(); ++i) names.tensors[i] = search.named(i);
    const auto called = std::ranges::find_if(scopes, [](const Scope& scope) { return scope.module != nullptr; });
    if (called != scopes.end()) names.module = search.place_of(called->module);
    findings = std::move(search.findings());
  }
  std::map<int, std::string> lines;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const bool is_named = findings[i].named != Match::none && findings[i].named >= findings[i].held;
    if (!is_named) continue;
    names.tensors[i].name = best_of(findings[i], lines);
    names.tensors[i].frame = findings[i].scope->index;
  }
  return names;
} catch (const std::exception&) {
  return {std::vector<Named>(sought.size()), std::nullopt};
}

}  // namespace device_audit::python
