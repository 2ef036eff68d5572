// The facts of the domain, as plain data: what an operator was called with, what became of it, and what we say about
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace device_audit {

// As PyTorch prints it: "cpu", "cuda:0", "meta", "mps:0".
using Device = std::string;

// A place in source text. `line` counts from 1; `code` is the line without indent, empty where it could not be read.
struct Place {
  std::string file;
  int line = 0;
  std::string function;
  std::string code;
  bool operator==(const Place&) const = default;
};

// Where the storage of a tensor came to be.
struct Origin {
  Place place;
  std::string op;  // the operator that made it, "aten::zeros"
};

// One tensor or generator that an operator was called with.
struct Operand {
  std::string argument;  // its name in the operator's schema; an element of a list: "tensors[1]"
  int position = 0;      // of the argument in the schema
  Device device;
  std::optional<std::vector<std::int64_t>> shape;  // none: a generator, a nested tensor, symbolic sizes
  std::string dtype;                               // "torch.float32", empty for a generator
  bool generator = false;
  bool written = false;  // the schema says that the operator writes it (in place, out=)
  bool stray = false;
  std::string name;         // in the user's own code, empty: not known
  std::string module_path;  // "encoder.layers.3.weight", empty: none
  std::optional<Origin> origin;
  std::optional<Place> moved;
  // Who it is in this process, for finding its name while the operator is open: its Python object and its storage, null
  // where it has none. Compared, never followed, never written down.
  const void* object = nullptr;
  const void* storage = nullptr;

  bool is_scalar() const { return shape && shape->empty(); }
};

struct OperatorCall {
  std::string name;                // without overload, "aten::add"
  std::string overload;            // "Tensor", empty: none
  std::vector<std::string> chain;  // outermost first, `name` last
  std::vector<Operand> operands;
  std::vector<Device> outputs;  // devices of the results; filled only where a meta operand is mixed with real ones
};

// The error with which an operator ended.
struct Failure {
  std::string type;  // "c10::Error"
  std::string text;
};

enum class Verdict { none, mismatch, implicit, transfer, sync, invalid };
enum class Phase { forward, backward, optimizer, other };

struct Frame {
  Place place;
  bool library = false;  // inside torch or Python itself
};

struct Pair {
  std::string a, b;  // arguments whose devices differ
};

struct Module {
  std::string path, type;
};

struct Library {
  std::string path, build_id;
};

// `library` is an index into Finding::libraries, or -1 where `offset` is an absolute address.
struct NativeFrame {
  int library = -1;
  std::uintptr_t offset = 0;
  std::string function;  // the exported name it lies in, demangled; empty: none
};

struct Finding {
  std::uint32_t id = 0;
  Verdict verdict = Verdict::none;
  OperatorCall call;
  std::vector<Pair> pairs;
  std::vector<Device> devices;
  std::optional<Place> site;
  std::vector<Frame> python;        // innermost first
  std::vector<NativeFrame> native;  // innermost first
  std::vector<Library> libraries;
  std::optional<Module> module;
  Phase phase = Phase::other;
  std::optional<Failure> failure;
  std::string legal_because;
  std::int64_t thread = 0;
  std::int64_t first_seen = 0;  // nanoseconds since 1970
};

constexpr const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::none:
      return "none";
    case Verdict::mismatch:
      return "mismatch";
    case Verdict::implicit:
      return "implicit";
    case Verdict::transfer:
      return "transfer";
    case Verdict::sync:
      return "sync";
    case Verdict::invalid:
      return "invalid";
  }
  return "none";
}

constexpr const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::optimizer:
      return "optimizer";
    case Phase::other:
      return "other";
  }
  return "other";
}

}  // namespace device_audit
