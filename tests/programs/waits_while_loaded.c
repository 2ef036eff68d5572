/* A library whose constructor waits, with the loader's lock held, until the counter whose address is in PROGRESS has
 * grown by 200, or for ten seconds. */
#include <stdlib.h>
#include <time.h>

static int grown = 0;

__attribute__((constructor)) static void wait_for_progress(void) {
  const char* address = getenv("PROGRESS");
  if (!address) return;
  const int* progress = (const int*)strtoul(address, NULL, 16);
  const int before = __atomic_load_n(progress, __ATOMIC_SEQ_CST);
  const struct timespec millisecond = {0, 1000000};
  for (int waited = 0; waited < 10000 && !grown; ++waited) {
    grown = __atomic_load_n(progress, __ATOMIC_SEQ_CST) - before >= 200;
    nanosleep(&millisecond, NULL);
  }
}

__attribute__((visibility("default"))) int progress_was_made(void) {
  return grown;
}
