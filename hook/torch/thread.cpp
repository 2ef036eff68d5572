#include "hook/torch/thread.h"

#include <pthread.h>

#include "hook/torch/core.h"

namespace device_audit::hook {
namespace {

// States are never freed: a callback may run while its thread's locals are being destroyed (P10), and a list that only
// grows needs no lock. States of ended threads are used again.
std::atomic<ThreadState*> all{nullptr};
thread_local ThreadState* mine = nullptr;

void give_back(void* state) {
  auto* ended = static_cast<ThreadState*>(state);
  mine = nullptr;
  ended->depth = 0;
  ended->draft.reset();
  ended->taken.store(false, std::memory_order_release);
}

pthread_key_t ending_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, &give_back);
    return made;
  }();
  return key;
}

ThreadState* take() {
  for (ThreadState* state = all.load(std::memory_order_acquire); state; state = state->next) {
    bool expected = false;
    if (state->taken.compare_exchange_strong(expected, true)) return state;
  }
  auto* made = new ThreadState;
  made->taken.store(true);
  made->next = all.load();
  while (!all.compare_exchange_weak(made->next, made)) {
  }
  return made;
}

}  // namespace

ThreadState& this_thread() {
  if (mine == nullptr) {
    mine = take();
    mine->guard = core->guard();
    pthread_setspecific(ending_key(), mine);
  }
  return *mine;
}

void for_each_thread(void (*visit)(ThreadState&, void*), void* context) {
  for (ThreadState* state = all.load(std::memory_order_acquire); state; state = state->next) visit(*state, context);
}

}  // namespace device_audit::hook
