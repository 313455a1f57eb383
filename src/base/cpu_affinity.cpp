#include "base/cpu_affinity.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace shunt {

namespace {

/// A set of processors 0 to size - 1: cpu_set_t alone ends at 1023.
class Processors {
 public:
  explicit Processors(int size)
      : bytes_(CPU_ALLOC_SIZE(static_cast<std::size_t>(size))),
        set_(CPU_ALLOC(static_cast<std::size_t>(size))) {
    if (set_) CPU_ZERO_S(bytes_, set_.get());
  }
  explicit operator bool() const { return set_ != nullptr; }
  std::size_t bytes() const { return bytes_; }
  cpu_set_t* get() const { return set_.get(); }
  void add(int processor) { CPU_SET_S(static_cast<std::size_t>(processor), bytes_, set_.get()); }
  bool has(int processor) const {
    return CPU_ISSET_S(static_cast<std::size_t>(processor), bytes_, set_.get());
  }

 private:
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  std::size_t bytes_;
  std::unique_ptr<cpu_set_t, Free> set_;
};

constexpr int kMostProcessors = 1 << 16;

}  // namespace

std::vector<int> this_threads_processors() {
  // Too small a set for the machine is refused: the necessary size is unknown.
  for (int size = 1024; size <= kMostProcessors; size *= 2) {
    const Processors set(size);
    if (!set) return {};
    if (sched_getaffinity(0, set.bytes(), set.get()) != 0) {
      if (errno == EINVAL) continue;
      return {};
    }
    std::vector<int> processors;
    for (int i = 0; i < size; ++i) {
      if (set.has(i)) processors.push_back(i);
    }
    return processors;
  }
  return {};
}

bool bind_this_thread(std::span<const int> processors) {
  if (processors.empty()) return false;
  const auto [low, high] = std::minmax_element(processors.begin(), processors.end());
  if (*low < 0 || *high >= kMostProcessors) return false;
  Processors set(*high + 1);
  if (!set) return false;
  for (int processor : processors) set.add(processor);
  return pthread_setaffinity_np(pthread_self(), set.bytes(), set.get()) == 0;
}

}  // namespace shunt
