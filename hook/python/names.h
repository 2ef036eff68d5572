// What the user calls a tensor.
//
// Found in the frames of the current thread, by the tensor's identity, else by its storage's. What stack.h says of its
// functions holds for this one: any thread, no user code, nothing kept alive, no error thrown.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace device_audit::python {

struct Sought {
  const void* object;   // its PyObject; null: it has none
  const void* storage;  // its storage's identity, as `storage_of` gives it; null: not to be found by that
};

struct Named {
  // As it is written in the frame where it was found: `labels`, `batch['labels']`, `model.layers[3].weight`. `[...]`
  // stands for a key that is neither an integer nor a short printable string. "": not found.
  std::string name;
  int frame = -1;            // index in the stack() of the same moment: where `name` holds
  bool same_object = false;  // the tensor itself was found; false: one that shares its storage (a view, `.data`)

  // What it, or else what shares its storage, is in the nn.Module in sight that holds it. All false: none does.
  bool parameter = false;
  bool buffer = false;
  bool plain_attribute = false;  // registered as neither, so that `.to()` leaves it behind
  std::string module_path;       // of a parameter or buffer, from the root: "encoder.layers.3.attn.q.weight"; else ""
};

struct InModule {
  std::string path;  // from the root; "" for the root
  std::string type;  // its class's name
};

struct Names {
  std::vector<Named> tensors;      // one for each that was sought, in that order
  std::optional<InModule> module;  // the innermost nn.Module in whose forward the thread is
};

// The name that wins is the one in the innermost frame of the user's in which the tensor itself has one, else in which
// one with its storage has one. Among several there: one that the frame's source line has in it, then the one with the
// fewest steps (a variable, an attribute of `self`, an item of a batch, ...), then the first. Of modules that share a
// parameter, the innermost that is called names it. The root of a module's path is the outermost module in sight: of
// those called in the stack, and of those in variables of the user's frames.
//
// Bounded: the 64 innermost frames, containers in containers to depth 4, modules to any depth, 20,000 objects.
// `storage_of` is asked for the storage of a tensor (a PyObject), null if unknown, under the GIL; it runs no Python.
// Empty where Python cannot be asked, where torch is not imported, and in a Python without a GIL.
Names names_of(const std::vector<Sought>& sought, const void* (*storage_of)(const void* tensor_object));

}  // namespace device_audit::python
