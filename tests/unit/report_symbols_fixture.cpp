// A library whose lines report_symbols_test.cpp knows.
namespace fixture {

[[gnu::always_inline]] inline int inner(void* (*capture)(), void** address) {
  *address = capture();  // inner line
  return 1;
}

[[gnu::noinline]] int outer(void* (*capture)(), void** address) {
  return inner(capture, address) + 1;  // outer line
}

}  // namespace fixture

extern "C" [[gnu::visibility("default")]] int fixture_call(void* (*capture)(), void** address) {
  return fixture::outer(capture, address) + 1;
}
