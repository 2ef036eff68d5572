// A library that throws and catches inside itself, and throws to whoever calls it.
#include <stdexcept>
#include <string>

namespace {
struct Own : std::runtime_error {
  using std::runtime_error::runtime_error;
};
}  // namespace

extern "C" __attribute__((visibility("default"))) int throw_and_catch(int value) {
  try {
    if (value % 2) throw Own("own " + std::to_string(value));
    throw value;
  } catch (const Own& error) {
    return static_cast<int>(std::string(error.what()).size());
  } catch (int caught) {
    return -caught;
  }
}

extern "C" __attribute__((visibility("default"))) void throw_out() {
  throw std::runtime_error("out of the extension");
}
