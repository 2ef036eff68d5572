// Throws and catches in every way that ends well.
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>

struct Plain {
  int value;
};
struct Base {
  virtual ~Base() = default;
};
struct Side {
  virtual ~Side() = default;
};
struct Derived : Base, virtual Side {};

static int before_main = [] {
  try {
    throw Plain{1};
  } catch (const Plain& plain) {
    return plain.value;
  }
}();

template <typename Throw>
static void expect(const char* what, Throw thrower) {
  try {
    thrower();
    std::printf("%s: nothing came\n", what);
  } catch (int value) {
    std::printf("%s: int %d\n", what, value);
  } catch (const char* text) {
    std::printf("%s: text %s\n", what, text);
  } catch (const Side&) {
    std::printf("%s: Side\n", what);
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", what, error.what());
  } catch (...) {
    std::printf("%s: something\n", what);
  }
}

int main() {
  std::printf("before main: %d\n", before_main);
  expect("int", [] { throw 7; });
  expect("pointer", [] { throw "seven"; });
  expect("class", [] { throw Plain{2}; });
  expect("virtual base", [] { throw Derived(); });
  expect("standard", [] { throw std::runtime_error("broken"); });
  expect("by the library", [] { (void)std::string("abc").at(9); });
  expect("new", [] { throw std::bad_alloc(); });
  expect("again", [] {
    try {
      throw std::logic_error("first");
    } catch (...) {
      throw;
    }
  });
  std::exception_ptr kept;
  std::thread([&kept] {
    try {
      throw std::runtime_error("from a thread");
    } catch (...) {
      kept = std::current_exception();
    }
  }).join();
  expect("exception_ptr", [&kept] { std::rethrow_exception(kept); });
  int caught = 0;
  for (int i = 0; i < 10000; ++i) {
    try {
      if (i % 2) throw i;
      throw std::runtime_error("many");
    } catch (int) {
      ++caught;
    } catch (const std::exception&) {
      ++caught;
    }
  }
  std::printf("many: %d\n", caught);
}
