// Objects that CUDA hands out by pointer. Their memory is kept for the life of the process, so that a handle that was
// destroyed, or never was one, is told apart from a live one without touching foreign memory.
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

namespace device_audit::simulate {

template <typename Object>
class Objects {
 public:
  // Null where memory is exhausted.
  Object* make(const Object& value) {
    pthread_mutex_lock(&lock_);
    if (!free_) grow();
    Slot* slot = free_;
    if (slot) {
      free_ = slot->next;
      slot->live = true;
      slot->object = value;
    }
    pthread_mutex_unlock(&lock_);
    return slot ? &slot->object : nullptr;
  }

  // False for a handle that is not live.
  bool drop(const Object* object) {
    pthread_mutex_lock(&lock_);
    Slot* slot = find(object);
    if (slot) {
      slot->live = false;
      slot->next = free_;
      free_ = slot;
    }
    pthread_mutex_unlock(&lock_);
    return slot;
  }

  bool holds(const Object* object) {
    pthread_mutex_lock(&lock_);
    const bool held = find(object);
    pthread_mutex_unlock(&lock_);
    return held;
  }

  template <typename Action>
  void for_each(Action action) {
    pthread_mutex_lock(&lock_);
    for (Chunk* chunk = chunks_; chunk; chunk = chunk->next) {
      for (Slot& slot : chunk->slots) {
        if (slot.live) action(slot.object);
      }
    }
    pthread_mutex_unlock(&lock_);
  }

 private:
  struct Slot {
    Object object;
    bool live;
    Slot* next;
  };
  struct Chunk {
    Slot slots[64];
    Chunk* next;
  };

  void grow() {
    auto* chunk = static_cast<Chunk*>(calloc(1, sizeof(Chunk)));
    if (!chunk) return;
    for (Slot& slot : chunk->slots) {
      slot.next = free_;
      free_ = &slot;
    }
    chunk->next = chunks_;
    chunks_ = chunk;
  }

  Slot* find(const Object* object) {
    const auto address = reinterpret_cast<uintptr_t>(object);
    for (Chunk* chunk = chunks_; chunk; chunk = chunk->next) {
      const auto first = reinterpret_cast<uintptr_t>(chunk->slots);
      if (address < first || address >= first + sizeof chunk->slots || (address - first) % sizeof(Slot)) continue;
      Slot& slot = chunk->slots[(address - first) / sizeof(Slot)];
      return slot.live ? &slot : nullptr;
    }
    return nullptr;
  }

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Chunk* chunks_ = nullptr;
  Slot* free_ = nullptr;
};

}  // namespace device_audit::simulate
