// What observing costs one operator: add_out of two 4x4 CPU tensors without any callback, with an empty RecordFunction
// callback, with an empty one that asks for inputs (the floor of whatever looks at operands), and with the adapter's
// observer.
//
// The adapter is opened here without the preloaded core, over a table of functions that do nothing.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdio>

#include "hook/bridge.h"

namespace {

at::RecordFunctionCallback empty_callback(bool inputs) {
  return at::RecordFunctionCallback(
             [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> { return nullptr; },
             [](const at::RecordFunction&, at::ObserverContext*) {})
      .needsInputs(inputs)
      .scopes({at::RecordScope::FUNCTION});
}

int* guard() {
  static thread_local int depth = 0;
  return &depth;
}

device_audit_settings settings() {
  device_audit_settings made{};
  made.mode_full = made.stacks_python = made.stacks_native = 1;
  made.log_level = -1;
  return made;
}

// The observer's handle: handles are given out in order, so it is the one before the next.
at::CallbackHandle start_adapter() {
  static const device_audit_settings kSettings = settings();
  static const device_audit_core kCore{
      DEVICE_AUDIT_BRIDGE_VERSION,
      &kSettings,
      "",
      [](const char*, size_t) { return 0; },
      [](uint32_t, uint32_t*) -> uint64_t* { return nullptr; },
      [](device_audit_level, const char*, size_t) {},
      &guard,
      []() -> uint32_t { return 0; },
      [](const char* part, const char* why) { std::fprintf(stderr, "%s switched itself off: %s\n", part, why); },
  };
  void* library = dlopen(DEVICE_AUDIT_ADAPTER, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  auto start = reinterpret_cast<device_audit_part_start_function>(dlsym(library, "device_audit_part_start"));
  static device_audit_part part{};
  if (const char* refused = start(&kCore, &part)) {
    std::fprintf(stderr, "%s\n", refused);
    std::exit(1);
  }
  const at::CallbackHandle next = at::addGlobalCallback(empty_callback(false));
  at::removeCallback(next);
  at::disableCallback(next - 1);
  return next - 1;
}

void add_out(benchmark::State& state) {
  const at::Tensor a = at::ones({4, 4});
  const at::Tensor b = at::ones({4, 4});
  at::Tensor out = at::empty({4, 4});
  for (auto _ : state) at::add_out(out, a, b);
}

void without_callback(benchmark::State& state) {
  add_out(state);
}

void with_callback(benchmark::State& state, bool inputs) {
  const at::CallbackHandle handle = at::addGlobalCallback(empty_callback(inputs));
  add_out(state);
  at::removeCallback(handle);
}

void with_observer(benchmark::State& state) {
  static const at::CallbackHandle handle = start_adapter();
  at::reenableCallback(handle);
  add_out(state);
  at::disableCallback(handle);
}

}  // namespace

BENCHMARK(without_callback);
BENCHMARK_CAPTURE(with_callback, empty, false);
BENCHMARK_CAPTURE(with_callback, empty_with_inputs, true);
BENCHMARK(with_observer);

int main(int argc, char** argv) {
  at::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
