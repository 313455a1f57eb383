#include "support/test_world.h"

#include <algorithm>
#include <stdexcept>

namespace shunt::test {

Status WorldEvent::wait() {
  world_.run_until(*work_);
  if (drained_ != nullptr) world_.run_all(*drained_);
  world_.host_waited(drained_ != nullptr ? drained_->time() : work_->time);
  return work_->status;
}

WorldStream::WorldStream(TestWorld& world) : world_(world) {
  world_.streams_.push_back(this);
}

WorldStream::~WorldStream() {
  std::erase(world_.streams_, this);
}

void WorldStream::submit(WorldTask task, std::span<Event* const> waits, Event* signal) {
  Queued queued{std::move(task), 0, {}, nullptr};
  // The wait is for work that was submitted by now, so this comes before the event is renewed.
  for (Event* event : waits) {
    if (auto* known = dynamic_cast<WorldEvent*>(event); known && known->is_for_streams()) {
      queued.waits.push_back(known->work());
      continue;
    }
    // Another world's, or of a device without events: the host waits for it.
    auto work = std::make_shared<WorldWork>();
    work->done = true;
    work->status = event->wait();
    queued.waits.push_back(std::move(work));
  }
  queued.submitted = world_.host_;
  if (signal != nullptr) {
    auto& event = dynamic_cast<WorldEvent&>(*signal);
    event.renew();
    queued.work = event.work();
  } else {
    queued.work = std::make_shared<WorldWork>();
  }
  queue_.push_back(std::move(queued));
}

std::shared_ptr<WorldWork> WorldStream::submit(WorldTask task,
                                               std::vector<std::shared_ptr<WorldWork>> waits) {
  queue_.push_back(
      {std::move(task), world_.host_, std::move(waits), std::make_shared<WorldWork>()});
  return queue_.back().work;
}

bool WorldStream::ready() const {
  return !stopped_ && !queue_.empty() &&
         std::all_of(queue_.front().waits.begin(), queue_.front().waits.end(),
                     [](const auto& work) { return work->done; });
}

void WorldStream::run_first() {
  Queued queued = std::move(queue_.front());
  queue_.pop_front();
  double start = std::max(time_, queued.submitted);
  Status status = failed_;
  for (const auto& work : queued.waits) {
    start = std::max(start, work->time);
    if (status && !work->status) status = work->status;  // an error travels with the event
  }
  if (status) status = queued.task.run();
  if (!status) failed_ = status;
  time_ = start + queued.task.seconds;
  world_.now_ = std::max(world_.now_, time_);
  queued.work->begin = start;
  queued.work->time = time_;
  queued.work->status = std::move(status);
  queued.work->done = true;
}

bool TestWorld::run_one() {
  std::vector<WorldStream*> ready;
  for (WorldStream* stream : streams_) {
    if (stream->ready()) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  ready[pick_(ready.size())]->run_first();
  return true;
}

bool TestWorld::try_to_run_until(const WorldWork& work) {
  while (!work.done) {
    if (!run_one()) return false;
  }
  return true;
}

void TestWorld::run_until(const WorldWork& work) {
  if (!try_to_run_until(work)) throw std::logic_error("everybody waits for somebody else");
}

void TestWorld::run_all(const WorldStream& stream) {
  while (!stream.queue_.empty()) {
    if (!run_one()) throw std::logic_error("everybody waits for somebody else");
  }
}

}  // namespace shunt::test
