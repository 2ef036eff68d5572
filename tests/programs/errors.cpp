// Errors that the program handles.
//
// usage: errors across-threads | inside-operator | many
#include <torch/library.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>
#include <thread>

#include "operators.h"

namespace {

// A composite operator that tries, and falls back when the device does not fit.
at::Tensor tolerant_add(const at::Tensor& left, const at::Tensor& right) {
  try {
    return at::add(left, right);
  } catch (const c10::Error&) {
    return left;
  }
}

TORCH_LIBRARY(hazards, library) {
  library.def("tolerant_add(Tensor left, Tensor right) -> Tensor", &tolerant_add);
}

void raise_across_threads(const Mixed& mixed) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      mixed.raise();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  std::thread([&] {
    try {
      std::rethrow_exception(error);
    } catch (const c10::Error& first) {
      std::printf("on another thread: %s\n", first.what_without_backtrace());
      error = std::current_exception();
    }
  }).join();
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& second) {
    std::printf("on the main thread: %d\n", dynamic_cast<const c10::Error*>(&second) != nullptr);
  }
}

void raise_inside_operator(const Mixed& mixed) {
  const auto tolerant = c10::Dispatcher::singleton()
                            .findSchemaOrThrow("hazards::tolerant_add", "")
                            .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
  for (int i = 0; i < 100; ++i) {
    const at::Tensor result = tolerant.call(mixed.cpu, mixed.meta);
    if (i == 0) std::printf("fell back: %d\n", result.is_same(mixed.cpu));
  }
}

long resident_bytes() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

int raise(const Mixed& mixed, int times) {
  int caught = 0;
  for (int i = 0; i < times; ++i) {
    try {
      mixed.raise();
    } catch (const c10::Error&) {
      ++caught;
    }
  }
  return caught;
}

void raise_many(const Mixed& mixed) {
  constexpr long bound = 2 << 20;
  int caught = 0;
  long before = 0;
  for (int times : {1000, 9000}) {
    before = resident_bytes();
    caught += raise(mixed, times);
  }
  const long grown = resident_bytes() - before;
  std::printf("%d caught, memory %s\n", caught, grown < bound ? "steady" : "grows");
  std::fflush(stdout);
  if (grown >= bound) std::fprintf(stderr, "by %ld bytes\n", grown);
}

}  // namespace

int main(int, char** argv) {
  const std::string_view what = argv[1];
  const Mixed mixed;
  if (what == "across-threads") raise_across_threads(mixed);
  if (what == "inside-operator") raise_inside_operator(mixed);
  if (what == "many") raise_many(mixed);
}
