#include "backend_support/pool.h"

#include <limits>
#include <system_error>
#include <utility>

#include "backend_support/seats.h"
#include "base/cpu_affinity.h"
#include "shunt/message.h"

namespace shunt {

namespace {

// About 50 microseconds of polling: longer than the gaps between launches, too short to notice.
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

Result<std::unique_ptr<Pool>> Pool::create(int threads, const CpuTopology& topology,
                                           PinThreads pin) {
  const int spins = threads <= topology.at_once() ? kSpins : 0;
  std::unique_ptr<Pool> pool(new Pool(threads, spins, seats(topology, threads, pin)));
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
  // A core that is refused (switched off meanwhile, or another machine's) costs speed only.
  if (pinned()) (void)bind_this_thread(seats_[static_cast<std::size_t>(worker)]);
  at_work_ = this;
  std::uint32_t seen = 0;
  while (true) {
    waiting_.while_equal(generation_, seen);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (open_.load(std::memory_order_seq_cst) && worker < task_threads_) task_->run(worker);
    if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) inside_.notify_all();
  }
}

void Pool::run(Task& task, int most) {
  const Pool* around = std::exchange(at_work_, this);
  const int threads = threads_of(most);
  threads > 1 ? run_together(task, threads) : task.run(0);
  at_work_ = around;
}

void Pool::run_together(Task& task, int threads) {
  task_ = &task;
  task_threads_ = threads;
  open_.store(true, std::memory_order_seq_cst);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  task.run(0);
  open_.store(false, std::memory_order_seq_cst);
  // As seq_cst, for the order described at inside_; then for the work of the threads inside.
  if (inside_.load(std::memory_order_seq_cst) != 0) waiting_.until(inside_, std::uint32_t{0});
}

Status Pool::reserve_scratch(std::size_t bytes) {
  if (bytes <= reserved_) return ok();
  // Whole pages, none of them shared, and none that was touched before. So each is placed where its
  // worker runs.
  const std::size_t page = page_size();
  const auto refuse = [&] {
    return fail(ErrorCode::kOutOfMemory,
                "can't allocate {} bytes of scratch memory for each of {} threads", bytes,
                threads_);
  };
  if (bytes > std::numeric_limits<std::size_t>::max() - page) return refuse();
  const std::size_t size = (bytes + page - 1) / page * page;
  std::vector<AlignedBytes> scratch;
  for (int worker = 0; worker < threads_; ++worker) {
    scratch.push_back(allocate_aligned(size, page));
    if (scratch.back() == nullptr) return refuse();
    forget_pages(scratch.back().get(), size);
  }
  scratch_ = std::move(scratch);
  reserved_ = size;
  return ok();
}

std::byte* Pool::scratch(int worker) const {
  return scratch_.empty() ? nullptr : scratch_[static_cast<std::size_t>(worker)].get();
}

Status expect_outside(const Pool& pool) {
  if (!pool.at_work()) return ok();
  return invalid("a function that a run calls can't compile or run a plan on the same device");
}

Status reserve_scratch(Pool& pool, std::size_t bytes) {
  SHUNT_TRY(expect_outside(pool));
  const auto lock = pool.lock();
  return pool.reserve_scratch(bytes);
}

}  // namespace shunt
