// A library whose constructor waits for a thread that throws: it holds the loader's lock meanwhile.
#include <thread>

namespace {

struct Base {
  virtual ~Base() = default;
};
struct Side {
  virtual ~Side() = default;
};
struct Derived : Base, Side {};  // another kind of type_info than the program has thrown

int waited = [] {
  int caught = 0;
  std::thread([&caught] {
    for (int i = 0; i < 100; ++i) {
      try {
        throw Derived();
      } catch (const Side&) {
        ++caught;
      }
    }
  }).join();
  return caught;
}();

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* plugin() {
  return waited == 100 ? "waited" : "lost";
}
