#include "shunt/batcher.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "base/enum_table.h"
#include "base/guarded.h"
#include "engine/batch/batch_engine.h"
#include "engine/batch/turn_lock.h"
#include "shunt/message.h"

namespace shunt {

std::string_view to_string(BatchEnd end) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "end of sequence", "stop token", "length", "context full", "cancelled", "deadline", "failed"};
  return name_in(kNames, end);
}

class Batcher::State {
 public:
  State(const BatcherOptions& options, std::unique_ptr<Session> session)
      : session_(std::move(session)), engine_(*session_, options), own_thread_(options.own_thread) {
    if (own_thread_) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }

  ~State() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    engine_.signal().set();
    thread_.join();
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  BatchEngine& engine() { return engine_; }
  std::int64_t context() const { return session_->context(); }
  /// For a caller without the batcher's thread.
  bool step_if_allowed() { return !own_thread_ && step(); }
  /// read(session) between two steps.
  template <class Read>
  auto between_steps(const Read& read) const {
    const std::lock_guard lock(stepping_);
    return read(*session_);
  }

 private:
  bool step() {
    const std::lock_guard lock(stepping_);
    return engine_.step();
  }

  void work(const std::stop_token& stop) {
    constexpr double kLongest = 1;
    while (!stop.stop_requested()) {
      if (step()) continue;
      engine_.signal().wait(std::clamp(engine_.seconds_to_deadline(), 0.0, kLongest));
    }
  }

  std::unique_ptr<Session> session_;
  BatchEngine engine_;
  bool own_thread_;
  mutable TurnLock stepping_;  // held by a step, and by who reads the session
  std::jthread thread_;
};

Batcher::Batcher(std::unique_ptr<State> state) : state_(std::move(state)) {}
Batcher::~Batcher() = default;

SessionOptions Batcher::session_options(const SessionOptions& options) {
  SessionOptions chosen = options;
  chosen.reuse_prefixes = true;
  // A token for each sequence, and one of a prompt.
  const std::int64_t sequences = std::min(chosen.sequences, SessionOptions::kMaxContext);
  chosen.batch = std::max(chosen.batch, sequences + 1);
  return chosen;
}

Result<std::unique_ptr<Batcher>> Batcher::create(std::shared_ptr<const Model> model,
                                                 const BatcherOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Batcher>> {
    if (!(options.token_interval >= 0))
      return invalid("token_interval is {}; it may be 0 or more", options.token_interval);
    SHUNT_TRY(expect_logits(model->info()));
    if (options.unread_events < 1) return invalid("unread_events is 0; it must be at least 1");
    BatcherOptions chosen = options;
    chosen.session = Batcher::session_options(options.session);
    SHUNT_ASSIGN(auto session, Session::create(std::move(model), chosen.session));
    return std::unique_ptr<Batcher>(
        new Batcher(std::make_unique<State>(chosen, std::move(session))));
  });
}

Result<std::unique_ptr<BatchStream>> Batcher::submit(BatchRequest request) {
  return guarded([&] { return state_->engine().submit(std::move(request)); });
}

bool Batcher::step() {
  return state_->step_if_allowed();
}

BatcherStatistics Batcher::statistics() const {
  return state_->engine().statistics();
}

std::int64_t Batcher::context() const {
  return state_->context();
}

SessionMemory Batcher::memory() const {
  return state_->between_steps([](const Session& session) { return session.memory(); });
}

std::vector<std::string> Batcher::notes() const {
  return state_->between_steps([](const Session& session) { return session.notes(); });
}

}  // namespace shunt
