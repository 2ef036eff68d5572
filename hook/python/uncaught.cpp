#include <algorithm>
#include <exception>
#include <optional>

#include "hook/python/frame.h"
#include "hook/python/session.h"
#include "hook/python/text.h"

namespace device_audit::python {
namespace {

constexpr std::size_t kDeepest = 64;

constinit std::atomic<void (*)(const Uncaught*)> listener{nullptr};

// As Python prints it. A class whose metaclass is the user's own is not asked for its name.
std::string kind_of(const Api& python, Object* error) {
  static constinit Attribute module_name{"__module__"};
  static constinit Attribute qualified_name{"__qualname__"};
  Reference type(python, python.PyObject_Type(error));
  if (!is_exactly(python, type.get(), python.PyType_Type)) return "Exception";
  Reference module = module_name.of(python, type.get());
  Reference name = qualified_name.of(python, type.get());
  std::string in = is_exactly(python, module.get(), python.PyUnicode_Type) ? text_of(python, module.get()) : "";
  if (in.empty() || in == "builtins" || in == "__main__") return text_of(python, name.get());
  return in + "." + text_of(python, name.get());
}

// By BaseException's own descriptor: a class may have another `args`, and its `__str__` is its own.
std::string text_of_error(const Api& python, Object* error) {
  static constinit Attribute arguments_name{"args"};
  static constinit Attribute get_name{"__get__"};
  Reference descriptor = arguments_name.of(python, *python.PyExc_BaseException);
  Reference get = descriptor ? get_name.of(python, descriptor.get()) : Reference();
  Reference arguments(python, get ? python.PyObject_CallFunctionObjArgs(get.get(), error, nullptr) : nullptr);
  std::string text;
  if (is_exactly(python, arguments.get(), python.PyTuple_Type) && python.PyTuple_Size(arguments.get()) > 0) {
    Object* first = python.PyTuple_GetItem(arguments.get(), 0);
    if (is_exactly(python, first, python.PyUnicode_Type)) text = text_of(python, first);
  }
  python.PyErr_Clear();
  return text;
}

std::vector<Frame> stack_of(const Api& python, Object* error) {
  static constinit Attribute next{"tb_next"};
  static constinit Attribute frame_name{"tb_frame"};
  static constinit Attribute line_name{"tb_lineno"};
  std::vector<Reference> entries;  // outermost first
  Reference entry(python, python.PyException_GetTraceback(error));
  while (is_exactly(python, entry.get(), python.PyTraceBack_Type)) {
    Reference inner = next.of(python, entry.get());
    entries.push_back(std::move(entry));
    entry = std::move(inner);
  }
  std::vector<Frame> frames;
  const std::size_t count = std::min(entries.size(), kDeepest);
  for (auto place = entries.rbegin(); frames.size() < count; ++place) {
    Reference frame = frame_name.of(python, place->get());
    Reference line = line_name.of(python, place->get());
    if (!frame || !line) break;
    Reference code(python, python.PyFrame_GetCode(frame.get()));
    frames.push_back(describe(python, code.get(), static_cast<int>(python.PyLong_AsLong(line.get()))));
  }
  return frames;
}

std::optional<Uncaught> uncaught() {
  std::optional<Uncaught> found;
  if (Session session; session) {
    const Api& python = session.python();
    // At a prompt, in a notebook: errors are printed, and the program goes on.
    if (python.PySys_GetObject("ps1")) return std::nullopt;
    if (Reference error = last_exception(python)) {
      found = Uncaught{kind_of(python, error.get()), text_of_error(python, error.get()), stack_of(python, error.get())};
    }
  }
  if (found) read_code(found->stack);
  return found;
}

void tell() try {
  const std::optional<Uncaught> error = uncaught();
  if (auto function = listener.load()) function(error ? &*error : nullptr);
} catch (const std::exception&) {
}

}  // namespace

Uncaught describe_exception(void* exception) {
  Session session;
  if (!session) return {};
  const Api& python = session.python();
  auto* error = exception ? static_cast<Object*>(exception) : session.pending_error();
  if (!error) return {};
  // Before Python 3.12 an error raised in C is its text until somebody looks at it.
  if (is_exactly(python, error, python.PyUnicode_Type)) return {"", text_of(python, error), {}};
  return {kind_of(python, error), text_of_error(python, error), {}};
}

void at_exit(void (*function)(const Uncaught* error)) {
  listener = function;
  before_the_gate_closes(&tell);
}

}  // namespace device_audit::python
