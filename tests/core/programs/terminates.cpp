// An exception that nobody catches: the program ends by SIGABRT, and the C++ runtime says why.
#include <stdexcept>

int main() {
  throw std::runtime_error("nobody catches this");
}
