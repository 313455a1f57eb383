// Asynchronous test devices live in a world: their streams hold work back and do it in an order
// that chance picks among all that is allowed, on a simulated clock. A plan that forgets to wait
// for something computes something else here.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "shunt/device.h"

namespace shunt::test {

class WorldStream;

/// One submission: done or not, when, and how it ended.
struct WorldWork {
  bool done = false;
  double begin = 0;  ///< simulated seconds at which it began
  double time = 0;   ///< and at which it ended
  Status status;
};

class TestWorld {
 public:
  /// Picks at random.
  explicit TestWorld(std::uint64_t seed = 1)
      : TestWorld([random = std::mt19937_64(seed)](std::size_t ready) mutable {
          return static_cast<std::size_t>(random() % ready);
        }) {}
  /// `pick`: given how many streams could run their next work (at least 1), the index of the one
  /// that does.
  explicit TestWorld(std::function<std::size_t(std::size_t)> pick) : pick_(std::move(pick)) {}

  /// Runs work, of any stream that may, until this is done.
  void run_until(const WorldWork& work);
  /// The same. False if all streams that could go on have stopped.
  bool try_to_run_until(const WorldWork& work);
  /// The host waited for something that ended then: work that it submits from now on starts no
  /// earlier.
  void host_waited(double time) { host_ = std::max(host_, time); }
  void run_all(const WorldStream& stream);
  /// Simulated seconds at which the last work ended.
  double now() const { return now_; }
  /// The host's own simulated clock: the work that it last waited for ended then.
  double host_now() const { return host_; }

 private:
  friend class WorldStream;
  bool run_one();
  std::function<std::size_t(std::size_t)> pick_;
  std::vector<WorldStream*> streams_;
  double now_ = 0;
  double host_ = 0;
};

/// An event belongs to the work that it was last submitted with. A wait for it covers the work
/// submitted by then.
class WorldEvent final : public Event {
 public:
  /// `drained`: the stream that makes it, if it can be waited for only as a whole, and by the host.
  explicit WorldEvent(TestWorld& world, bool timed = false, WorldStream* drained = nullptr)
      : world_(world), timed_(timed), drained_(drained), work_(std::make_shared<WorldWork>()) {
    work_->done = true;
  }
  Status wait() override;
  /// Whether streams can wait for it.
  bool is_for_streams() const { return drained_ == nullptr; }
  std::optional<WorkTimes> times() const override {
    if (!timed_) return std::nullopt;
    return WorkTimes{work_->begin, work_->time};
  }
  std::shared_ptr<WorldWork> work() const { return work_; }
  void renew() { work_ = std::make_shared<WorldWork>(); }

 private:
  TestWorld& world_;
  bool timed_;
  WorldStream* drained_;
  std::shared_ptr<WorldWork> work_;
};

/// The action of a world's stream when its turn comes, and how many simulated seconds that takes.
struct WorldTask {
  std::function<Status()> run;
  double seconds = 0;
};

/// The queue of a device in a world. The device derives Stream with it.
class WorldStream {
 public:
  explicit WorldStream(TestWorld& world);
  ~WorldStream();
  WorldStream(const WorldStream&) = delete;
  WorldStream& operator=(const WorldStream&) = delete;

  void submit(WorldTask task, std::span<Event* const> waits, Event* signal);
  /// The same for work of its own world that is known already.
  std::shared_ptr<WorldWork> submit(WorldTask task, std::vector<std::shared_ptr<WorldWork>> waits);
  /// Nothing of it runs any more.
  void stop() { stopped_ = true; }
  TestWorld& world() const { return world_; }
  /// Simulated seconds at which the last of its work ended.
  double time() const { return time_; }
  /// Runs all, then work may follow that does not fail for an earlier failure.
  void synchronize() {
    world_.run_all(*this);
    failed_ = ok();
  }

 private:
  friend class TestWorld;
  struct Queued {
    WorldTask task;
    double submitted = 0;  // on the host's clock
    std::vector<std::shared_ptr<WorldWork>> waits;
    std::shared_ptr<WorldWork> work;
  };
  bool ready() const;
  void run_first();

  TestWorld& world_;
  bool stopped_ = false;
  std::deque<Queued> queue_;
  Status failed_;    // the first error since synchronize()
  double time_ = 0;  // at which its last work ended
};

}  // namespace shunt::test
