// The loader's list of mapped objects, walked so that it survives a fork.
//
// glibc guards the list with a lock that its fork neither takes nor makes new (2.36; dl_load_lock is made new): where
// another thread walks the list at that moment, the first walk in the child waits for ever. So walks are counted, and a
// fork waits for those of ours to end.
#pragma once

#include <link.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace device_audit::hook {

class ObjectList {
 public:
  // Calls `visit(const dl_phdr_info&)` for each mapped object until one call returns false. Nothing of ours may be
  // locked (P4).
  template <class Visit>
  static void walk(Visit visit) {
    const Walk counted;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) { return (*static_cast<Visit*>(data))(*object) ? 0 : 1; },
        &visit);
  }

  static void fork_prepare() {
    ++forks_;
    wait_for_none(walks_);
  }
  static void fork_parent() { --forks_; }
  static void fork_child() { walks_ = forks_ = 0; }

 private:
  struct Walk {
    Walk() {
      // Sequentially consistent, as the other side: a walk sees the fork, or the fork the walk.
      while (++walks_, forks_ != 0) {
        --walks_;
        if (wait_for_none(forks_)) continue;
        ++walks_;
        return;
      }
    }
    ~Walk() { --walks_; }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
  };

  // Not for ever: who is waited for may itself wait for a lock that this thread holds.
  static bool wait_for_none(const std::atomic<int>& count) {
    using namespace std::chrono_literals;
    const auto end = std::chrono::steady_clock::now() + 1s;
    while (count != 0) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(20us);
    }
    return true;
  }

  inline static constinit std::atomic<int> walks_{0};  // threads that walk now
  inline static constinit std::atomic<int> forks_{0};  // forks between prepare and their end
};

}  // namespace device_audit::hook
