// Threads that run operators while others end and begin, and operators in what runs as a thread ends.
//
// Prints how many operators ran in all.
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "operators.h"

namespace {

constexpr int side_by_side = 8;
constexpr int generations = 50;
constexpr int calls = 20;

std::atomic<int> ran{0};
const Mixed* mixed = nullptr;

void run() {
  mixed->run();
  ++ran;
}

// Its destructor runs after the thread's function.
struct AtThreadEnd {
  ~AtThreadEnd() { run(); }
  bool touched = false;
};
thread_local AtThreadEnd at_thread_end;

// The destructors of keys run after those of thread_local objects, and a key that is set again runs once more: the last
// of them after everything of ours that hangs on a key has been given back.
pthread_key_t key;
thread_local int rounds_left;

void at_key_end(void*) {
  run();
  if (--rounds_left > 0) pthread_setspecific(key, &key);
}

void live() {
  at_thread_end.touched = true;
  rounds_left = 3;
  pthread_setspecific(key, &key);
  for (int call = 0; call < calls; ++call) run();
  try {
    mixed->raise();
  } catch (const c10::Error&) {
    ++ran;
  }
}

}  // namespace

int main() {
  const Mixed made;
  mixed = &made;
  pthread_key_create(&key, &at_key_end);
  std::vector<std::thread> lines;
  for (int line = 0; line < side_by_side; ++line) {
    lines.emplace_back([] {
      for (int generation = 0; generation < generations; ++generation) std::thread(&live).join();
    });
  }
  for (std::thread& line : lines) line.join();
  std::printf("%d operators\n", ran.load());
}
