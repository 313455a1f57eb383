#include "backends/cpu/pinned_threads.h"

#include <sched.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "shunt/message.h"

namespace shunt::cpu {

namespace {

enum State : int { kWaiting, kWorking, kGivenUp };

/// The processors that this process may use; empty if the system doesn't report them.
std::vector<std::size_t> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<std::size_t> found;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return found;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) found.push_back(i);
  }
  return found;
}

/// Where the system refuses, the thread runs where it likes.
void pin(const std::vector<std::size_t>& to, int thread) {
  if (to.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(to[static_cast<std::size_t>(thread) % to.size()], &set);
  ::sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

Status run_pinned(int threads, const std::function<void(int)>& work) {
  const std::vector<std::size_t> to = processors();
  std::atomic<int> state = kWaiting;
  std::vector<std::thread> running;
  const auto release = [&](int next) {
    state.store(next, std::memory_order_release);
    state.notify_all();
    for (std::thread& thread : running) thread.join();
  };
  running.reserve(static_cast<std::size_t>(threads));
  try {
    for (int number = 0; number < threads; ++number) {
      running.emplace_back([&, number] {
        pin(to, number);
        state.wait(kWaiting, std::memory_order_acquire);
        if (state.load(std::memory_order_acquire) == kWorking) work(number);
      });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = running.size();
    release(kGivenUp);
    return fail(ErrorCode::kIo, "thread {} of {} can't be started: {}", started + 1, threads,
                error.what());
  }
  release(kWorking);
  return ok();
}

}  // namespace shunt::cpu
