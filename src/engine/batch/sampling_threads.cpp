#include "engine/batch/sampling_threads.h"

#include <algorithm>

#include "base/guarded.h"
#include "base/to_size.h"

namespace shunt {

SamplingThreads::SamplingThreads(int most)
    : most_(most > 0 ? to_size(most)
                     : std::max<std::size_t>(1, std::thread::hardware_concurrency())) {}

SamplingThreads::~SamplingThreads() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wanted_.notify_all();
}

void SamplingThreads::run(std::size_t count, std::size_t size,
                          const std::function<void(std::size_t)>& work) {
  constexpr std::size_t kWorthAThread = std::size_t{1} << 17;  // some 200 us of sampling
  const std::size_t useful = std::min({most_, count, 1 + count * size / kWorthAThread});
  if (useful <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  start(useful - 1);
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    next_ = 0;
    count_ = count;
    helpers_ = useful - 1;
  }
  for (std::size_t i = 1; i < useful; ++i) wanted_.notify_one();
  std::unique_lock lock(mutex_);
  while (next_ < count_) {
    const std::size_t i = next_++;
    lock.unlock();
    work(i);
    lock.lock();
  }
  helpers_ = 0;
  done_.wait(lock, [this] { return busy_ == 0; });
}

void SamplingThreads::help() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return over_ || helpers_ > 0; });
    if (over_) return;
    --helpers_;
    ++busy_;
    while (next_ < count_) {
      const std::size_t i = next_++;
      lock.unlock();
      (*work_)(i);
      lock.lock();
    }
    --busy_;
    done_.notify_one();
  }
}

/// With fewer threads than there might be, the others do the work.
void SamplingThreads::start(std::size_t count) {
  (void)guarded([&]() -> Result<bool> {
    while (threads_.size() < count) threads_.emplace_back([this] { help(); });
    return true;
  });
}

}  // namespace shunt
