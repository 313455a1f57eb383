// Threads that help to pick tokens.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shunt {

/// Threads that sleep between steps. They are started when they are first needed.
class SamplingThreads {
 public:
  /// `most`: 0: as many as the machine runs at once.
  explicit SamplingThreads(int most);
  ~SamplingThreads();
  SamplingThreads(const SamplingThreads&) = delete;
  SamplingThreads& operator=(const SamplingThreads&) = delete;

  /// Calls work(i) for all i below `count`, on this thread and others. Each call looks at `size`
  /// numbers: little work is done by few threads, because waking one takes time.
  void run(std::size_t count, std::size_t size, const std::function<void(std::size_t)>& work);

 private:
  void help();
  void start(std::size_t count);

  const std::size_t most_;
  std::mutex mutex_;  // of all but the threads
  std::condition_variable wanted_;
  std::condition_variable done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t next_ = 0;
  std::size_t count_ = 0;
  std::size_t helpers_ = 0;  // more that may join
  std::size_t busy_ = 0;
  bool over_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace shunt
