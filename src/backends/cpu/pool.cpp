#include "backends/cpu/pool.h"

#include <new>
#include <system_error>
#include <utility>

#include "base/cpu_topology.h"
#include "base/fail.h"

namespace shunt::cpu {

namespace {

constexpr std::size_t kScratchAlignment = 64;
// About 50 microseconds of looking: longer than the gaps between launches, shorter than anybody
// notices.
constexpr int kSpins = 4000;

}  // namespace

thread_local const Pool* Pool::at_work_ = nullptr;

void Waiting::pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void Waiting::while_equal(const std::atomic<std::uint32_t>& value, std::uint32_t old) const {
  for (int i = 0; i < spins_; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

void Pool::FreeScratch::operator()(std::byte* data) const {
  ::operator delete[](data, std::align_val_t(kScratchAlignment));
}

Result<std::unique_ptr<Pool>> Pool::create(int threads) {
  const int spins = threads <= read_cpu_topology().logical ? kSpins : 0;
  std::unique_ptr<Pool> pool(new Pool(threads, spins));
  try {
    for (int worker = 1; worker < threads; ++worker) {
      pool->workers_.emplace_back([raw = pool.get(), worker] { raw->work(worker); });
    }
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kIo, "thread {} of {} can't be started: {}", pool->workers_.size() + 2,
                threads, error.what());
  }
  return pool;
}

Pool::~Pool() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Pool::work(int worker) {
  at_work_ = this;
  std::uint32_t seen = 0;
  while (true) {
    waiting_.while_equal(generation_, seen);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (open_.load(std::memory_order_seq_cst)) task_->run(worker);
    if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) inside_.notify_all();
  }
}

void Pool::run(Task& task) {
  const Pool* around = std::exchange(at_work_, this);
  run_together(task);
  at_work_ = around;
}

void Pool::run_together(Task& task) {
  if (threads_ == 1) return task.run(0);
  task_ = &task;
  open_.store(true, std::memory_order_seq_cst);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  task.run(0);
  open_.store(false, std::memory_order_seq_cst);
  // As seq_cst, for the order described at inside_; then for what those inside have done.
  if (inside_.load(std::memory_order_seq_cst) != 0) waiting_.until(inside_, std::uint32_t{0});
}

Status Pool::reserve_scratch(std::size_t bytes) {
  bytes = (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  if (bytes <= scratch_bytes_) return ok();
  const std::size_t total = bytes * static_cast<std::size_t>(threads_);
  auto* data = static_cast<std::byte*>(
      ::operator new[](total, std::align_val_t(kScratchAlignment), std::nothrow));
  if (data == nullptr)
    return fail(ErrorCode::kOutOfMemory, "no {} bytes for the threads' scratch", total);
  scratch_.reset(data);
  scratch_bytes_ = bytes;
  return ok();
}

std::byte* Pool::scratch(int worker) const {
  return scratch_ == nullptr ? nullptr
                             : scratch_.get() + static_cast<std::size_t>(worker) * scratch_bytes_;
}

}  // namespace shunt::cpu
