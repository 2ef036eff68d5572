// What the core must not have: many thread-local variables, reached through the loader.
__thread char many[1000];

__attribute__((visibility("default"))) char* first_of_many(void) {
  return many;
}
