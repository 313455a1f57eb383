#include "shunt/batcher.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "base/enum_table.h"
#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/batch/batch_job.h"
#include "engine/batch/picked_token.h"
#include "engine/batch/prefix_keys.h"
#include "engine/batch/request_queue.h"
#include "engine/batch/step_budget.h"
#include "engine/session/step_inputs.h"
#include "model/definition.h"
#include "shunt/message.h"

namespace shunt {

std::string_view to_string(BatchEnd end) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "end of sequence", "stop token", "length", "context full", "cancelled", "deadline", "failed"};
  return name_in(kNames, end);
}

namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Calls work(i) for all i below `count`, on up to `threads` threads.
template <class Work>
void on_threads(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  // With fewer threads than there might be, the others do it.
  (void)guarded([&]() -> Status {
    for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(run);
    return ok();
  });
  run();
}

}  // namespace

class Batcher::State {
 public:
  State(std::shared_ptr<const Model> model, const BatcherOptions& options,
        std::unique_ptr<Session> session)
      : model_(std::move(model)),
        options_(options),
        session_(std::move(session)),
        budget_(options.token_interval),
        free_(to_size(session_->sequences())) {
    if (!options_.clock) options_.clock = steady_seconds;
    for (std::size_t i = 0; i < free_.size(); ++i)
      free_[i] = static_cast<std::int64_t>(free_.size() - 1 - i);
    if (options_.own_thread)
      thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }

  ~State() {
    if (thread_.joinable()) {
      thread_.request_stop();
      signal_->set();
      thread_.join();
    }
    take_incoming();
    while (!jobs_.empty()) end(jobs_.begin()->first, BatchEnd::kCancelled);
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<std::unique_ptr<BatchStream>> submit(BatchRequest request) {
    SHUNT_TRY(check_tokens(request.tokens, model_->info().vocabulary));
    if (request.max_tokens < -1)
      return invalid("max_tokens is {}; it may be -1 or more", request.max_tokens);
    if (request.alternatives < -1)
      return invalid("alternatives is {}; it may be -1 or more", request.alternatives);
    if (std::ssize(request.tokens) > session_->context()) {
      return invalid("a prompt of {} can never fit a context of {}",
                     counted(request.tokens.size(), "token"), session_->context());
    }
    SHUNT_ASSIGN(Sampler sampler, Sampler::create(request.sampling));
    for (const std::int32_t token : request.tokens) sampler.accept(token);
    auto task = std::make_shared<BatchTask>(signal_);
    auto stream = std::make_unique<BatchStream>(task);
    BatchJob job = {
        .request = std::move(request), .task = std::move(task), .sampler = std::move(sampler)};
    job.tokens = job.request.tokens;
    // Neither can be taken for the other.
    job.scope =
        fmt::format("{}:{}{}", job.request.scope.size(), job.request.scope, job.request.adapter);
    job.arrived = options_.clock();
    job.deadline = job.request.deadline ? job.arrived + *job.request.deadline : INFINITY;
    {
      const std::lock_guard lock(mutex_);
      incoming_.push_back(std::move(job));
      ++statistics_.waiting;
    }
    signal_->set();
    return stream;
  }

  /// For a caller without the batcher's thread.
  bool step_if_allowed() { return !options_.own_thread && step(); }

  BatcherStatistics statistics() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  std::int64_t context() const { return session_->context(); }
  /// read(session) between two steps.
  template <class Read>
  auto between_steps(const Read& read) const {
    ++readers_;
    const std::lock_guard lock(stepping_);
    --readers_;
    return read(*session_);
  }

 private:
  bool step() {
    // The next step would take the lock before a reader that waits for it.
    while (readers_ > 0) std::this_thread::yield();
    const std::lock_guard lock(stepping_);
    const auto done = guarded([&]() -> Result<bool> { return make_step(); });
    if (done) return *done;
    // There was no memory for the step's own lists: the requests that run can't go on.
    const bool any = !running_.empty();
    (void)guarded([&]() -> Status {
      fail_running(done.error());
      update_statistics();
      return ok();
    });
    return any;
  }

  struct Piece {
    std::int64_t order = 0;
    std::int64_t count = 0;
    bool logits = false;
  };

  void work(const std::stop_token& stop) {
    constexpr double kLongest = 1;
    while (!stop.stop_requested()) {
      if (step()) continue;
      double next = kLongest;
      const double now = options_.clock();
      for (const auto& [order, job] : jobs_) next = std::min(next, job.deadline - now);
      signal_->wait(std::max(next, 0.0));
    }
  }

  void take_incoming() {
    std::vector<BatchJob> incoming;
    {
      const std::lock_guard lock(mutex_);
      incoming.swap(incoming_);
    }
    for (BatchJob& job : incoming) {
      const std::int64_t order = next_order_++;
      RequestQueue::Entry entry = {job.request.priority, job.scope};
      jobs_.emplace(order, std::move(job));
      queue_.add(order, std::move(entry));
    }
  }

  void update_statistics() {
    const std::lock_guard lock(mutex_);
    statistics_.waiting = queue_.size() + std::ssize(parked_) + std::ssize(incoming_);
    statistics_.running = std::ssize(running_);
    statistics_.computed_tokens = session_->computed();
    statistics_.taken = session_->taken();
  }

  bool make_step() {
    take_incoming();
    bool worked = end_cancelled();
    look_at_readers();
    admit();
    const std::vector<Piece> pieces = choose_pieces(worked);
    if (!pieces.empty()) {
      compute(pieces);
      worked = true;
    }
    update_statistics();
    return worked;
  }

  /// Requests that their readers cancelled, and those whose time is over.
  bool end_cancelled() {
    std::vector<std::pair<std::int64_t, BatchEnd>> over;
    const double now = options_.clock();
    for (const auto& [order, job] : jobs_) {
      if (job.task->is_cancelled()) {
        over.emplace_back(order, BatchEnd::kCancelled);
      } else if (job.deadline <= now) {
        over.emplace_back(order, BatchEnd::kDeadline);
      }
    }
    for (const auto& [order, reason] : over) end(order, reason);
    return !over.empty();
  }

  /// Requests whose readers leave too many events make no more. Those that were paused wait again
  /// once their readers have gone on.
  void look_at_readers() {
    for (auto& [order, job] : jobs_) {
      const std::size_t unread = job.task->unread();
      job.reader_is_slow = unread >= options_.unread_events ||
                           (job.reader_is_slow && unread > options_.unread_events / 2);
      if (job.reader_is_slow || parked_.erase(order) == 0) continue;
      queue_.add(order, {job.request.priority, job.scope});
    }
  }

  /// Gives sequences to waiting requests as long as there is room for their prompts. The next one
  /// waits for room: no smaller one overtakes it.
  void admit() {
    while (const auto order = queue_.next()) {
      BatchJob& job = jobs_.at(*order);
      std::int64_t promised = session_->taken();
      for (const std::int64_t other : running_)
        promised += std::max<std::int64_t>(1, jobs_.at(other).left());
      const bool fits = running_.empty() || promised + job.left() + 1 <= session_->context();
      if (free_.empty() || !fits) {
        // The sequence and the rows of a request whose reader does not read are of no use now.
        const auto slow = std::ranges::find_if(
            running_, [this](std::int64_t each) { return jobs_.at(each).reader_is_slow; });
        if (slow == running_.end()) return;
        pause(*slow);
        continue;
      }
      running_.push_back(*order);
      queue_.take();
      job.sequence = free_.back();
      free_.pop_back();
      job.keys = prefix_keys(job.scope, job.tokens);
      (void)session_->set_scope(job.sequence, job.scope);
      if (job.admitted < 0) {
        job.admitted = options_.clock();
        job.result.wait_seconds = job.admitted - job.arrived;
      }
    }
  }

  /// A token for each request that generates, then pieces of prompts. `worked` becomes true if a
  /// request ended or was paused.
  std::vector<Piece> choose_pieces(bool& worked) {
    while (true) {
      std::vector<Piece> pieces = generating_pieces();
      const auto generating = std::ssize(pieces);
      std::int64_t room = session_->context() - session_->taken() - generating;
      if (room >= 0) {
        add_prompts(pieces, generating, room);
        if (!pieces.empty() || !is_stuck()) return pieces;
      }
      pause_one();
      worked = true;
    }
  }

  std::vector<Piece> generating_pieces() {
    std::vector<Piece> pieces;
    for (const std::int64_t order : running_) {
      const BatchJob& job = jobs_.at(order);
      if (job.generates() && !job.reader_is_slow) pieces.push_back({order, 1, true});
    }
    return pieces;  // fewer than a batch: see Batcher::create()
  }

  /// Whether some request could go on if there were room.
  bool is_stuck() const {
    return std::ranges::any_of(running_, [&](std::int64_t order) {
      const BatchJob& job = jobs_.at(order);
      return !job.reader_is_slow && job.left() > 0;
    });
  }

  void add_prompts(std::vector<Piece>& pieces, std::int64_t generating, std::int64_t room) {
    std::int64_t budget = batch() - generating;
    if (budget <= 0) return;
    budget = budget_.prompt_tokens(generating, budget);
    std::set<std::uint64_t> computing;  // prefixes, up to the end of a block
    for (const std::int64_t order : running_) {
      BatchJob& job = jobs_.at(order);
      if (job.generates() || job.left() == 0 || job.reader_is_slow) continue;
      room -= reuse(job, room);
      const auto first = to_size(job.appended / kCacheBlock);
      const bool at_start = job.appended % kCacheBlock == 0;
      if (at_start && first < job.keys.size() && computing.contains(job.keys[first])) continue;
      const std::int64_t count = std::min({job.left(), budget, room});
      if (count <= 0) continue;
      const auto end = to_size((job.appended + count - 1) / kCacheBlock);
      for (std::size_t i = first; i <= end && i < job.keys.size(); ++i)
        computing.insert(job.keys[i]);
      const bool last = count == job.left();
      pieces.push_back({order, count, last && job.request.max_tokens != 0});
      budget -= count;
      room -= count;
    }
  }

  /// Tokens of a prompt that the cache has, at most `room`; how much room they took.
  std::int64_t reuse(BatchJob& job, std::int64_t room) {
    if (room <= 0) return 0;
    const std::int64_t before = session_->taken();
    const auto next = std::span(job.tokens).subspan(to_size(job.appended));
    const auto found =
        session_->append_cached(job.sequence, next.first(std::min(next.size(), to_size(room))));
    if (!found) return 0;
    job.appended += *found;
    if (job.result.picked_tokens == 0) job.result.cached_tokens += *found;
    return session_->taken() - before;
  }

  /// A request gives its rows to others: one whose reader is slow, else the youngest of the lowest
  /// priority. It ends if it has all of them.
  void pause_one() {
    const auto rank = [&](std::int64_t order) {
      const BatchJob& job = jobs_.at(order);
      return std::tuple(!job.reader_is_slow, job.request.priority, -order);
    };
    const std::int64_t order = *std::ranges::min_element(running_, {}, rank);
    if (running_.size() == 1 && !jobs_.at(order).reader_is_slow)
      return end(order, BatchEnd::kContextFull);
    pause(order);
  }

  void pause(std::int64_t order) {
    BatchJob& job = jobs_.at(order);
    if (job.reader_is_slow) {
      parked_.insert(order);
    } else {
      queue_.add(order, {job.request.priority, job.scope});
    }
    stop(order, job);
    ++job.result.pauses;
    const std::lock_guard lock(mutex_);
    ++statistics_.pauses;
  }

  /// Takes a running request's sequence away.
  void stop(std::int64_t order, BatchJob& job) {
    std::erase(running_, order);
    (void)session_->truncate(0, job.sequence);
    free_.push_back(job.sequence);
    job.sequence = -1;
    job.appended = 0;
    if (job.result.picked_tokens == 0) job.result.cached_tokens = 0;
  }

  void compute(const std::vector<Piece>& pieces) {
    std::vector<SequenceTokens> tokens;
    std::int64_t generating = 0;
    std::int64_t prompt = 0;
    for (const Piece& piece : pieces) {
      const BatchJob& job = jobs_.at(piece.order);
      tokens.push_back({job.sequence,
                        std::span(job.tokens).subspan(to_size(job.appended), to_size(piece.count)),
                        piece.logits});
      (job.generates() ? generating : prompt) += piece.count;
    }
    const double start = options_.clock();
    const auto logits = session_->append_each(tokens);
    budget_.observe(generating, prompt, options_.clock() - start);
    if (!logits) return fail(pieces, logits.error());
    for (const Piece& piece : pieces) {
      BatchJob& job = jobs_.at(piece.order);
      job.appended += piece.count;
      job.result.computed_tokens += piece.count;
    }
    {
      const std::lock_guard lock(mutex_);
      ++statistics_.steps;
    }
    pick(pieces, *logits);
  }

  void pick(const std::vector<Piece>& pieces, std::span<const float> logits) {
    std::vector<std::int64_t> orders;
    for (const Piece& piece : pieces) {
      if (piece.logits) {
        orders.push_back(piece.order);
      } else if (jobs_.at(piece.order).left() == 0) {
        end(piece.order, BatchEnd::kLength);  // no token was wanted
      }
    }
    const auto each = to_size(model_->info().vocabulary);
    std::vector<Result<BatchEvent>> events(orders.size(), Result<BatchEvent>(BatchEvent()));
    on_threads(orders.size(), threads(), [&](std::size_t i) {
      BatchJob& job = jobs_.at(orders[i]);
      // A filter may throw.
      events[i] = guarded([&] {
        return pick_token(job.request, job.sampler, job.picked(), logits.subspan(i * each, each));
      });
    });
    for (std::size_t i = 0; i < orders.size(); ++i) add_token(orders[i], std::move(events[i]));
  }

  void add_token(std::int64_t order, Result<BatchEvent> event) {
    BatchJob& job = jobs_.at(order);
    if (!event) {
      job.result.error = event.error();
      return end(order, BatchEnd::kFailed);
    }
    if (job.answered < 0) job.answered = options_.clock();
    const std::int32_t token = event->token;
    if (is_end(job, token)) return end(order, BatchEnd::kEndOfSequence);
    if (std::ranges::count(job.request.stop_tokens, token) > 0)
      return end(order, BatchEnd::kStopToken);
    job.tokens.push_back(token);
    ++job.result.picked_tokens;
    job.task->push(std::move(*event));
    if (job.result.picked_tokens == job.request.max_tokens) return end(order, BatchEnd::kLength);
    if (std::ssize(job.tokens) > session_->context()) return end(order, BatchEnd::kContextFull);
  }

  bool is_end(const BatchJob& job, std::int32_t token) const {
    const text::Tokenizer& tokenizer = model_->tokenizer();
    return !job.request.ignore_end && tokenizer.contains(token) &&
           tokenizer.is_end_of_generation(token);
  }

  void fail(const std::vector<Piece>& pieces, const Error& error) {
    for (const Piece& piece : pieces) {
      jobs_.at(piece.order).result.error = error;
      end(piece.order, BatchEnd::kFailed);
    }
  }
  void fail_running(const Error& error) {
    while (!running_.empty()) {
      const std::int64_t order = running_.back();
      jobs_.at(order).result.error = error;
      end(order, BatchEnd::kFailed);
    }
  }

  void end(std::int64_t order, BatchEnd reason) {
    BatchJob& job = jobs_.at(order);
    if (job.sequence >= 0) {
      stop(order, job);
    } else if (parked_.erase(order) == 0) {
      queue_.remove(order);
    }
    const double now = options_.clock();
    job.result.reason = reason;
    if (job.admitted < 0) {
      job.result.wait_seconds = now - job.arrived;
    } else {
      job.result.prompt_seconds = (job.answered < 0 ? now : job.answered) - job.admitted;
      if (job.answered >= 0) job.result.generate_seconds = now - job.answered;
    }
    BatchEvent last;
    last.end = std::move(job.result);
    job.task->push(std::move(last));
    jobs_.erase(order);
  }

  std::int64_t batch() const { return batch_; }
  std::size_t threads() const {
    const auto all = std::max(1U, std::thread::hardware_concurrency());
    return options_.session.threads > 0 ? to_size(options_.session.threads) : all;
  }

  std::shared_ptr<const Model> model_;
  BatcherOptions options_;
  std::unique_ptr<Session> session_;
  std::int64_t batch_ = std::min(options_.session.batch, session_->context());
  StepBudget budget_;
  std::shared_ptr<BatchSignal> signal_ = std::make_shared<BatchSignal>();

  // Of the thread that makes the steps.
  std::map<std::int64_t, BatchJob> jobs_;  // by order
  RequestQueue queue_;
  std::vector<std::int64_t> running_;  // orders; those admitted first come first
  std::vector<std::int64_t> free_;     // sequences
  std::set<std::int64_t> parked_;      // orders of those that wait for their readers
  std::int64_t next_order_ = 0;

  mutable std::mutex stepping_;           // held by a step, and by who reads the session
  mutable std::atomic<int> readers_ = 0;  // that wait for the end of a step

  mutable std::mutex mutex_;  // of the rest
  std::vector<BatchJob> incoming_;
  BatcherStatistics statistics_;
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
    if (options.unread_events < 1) return invalid("unread_events is 0; it must be at least 1");
    BatcherOptions chosen = options;
    chosen.session = Batcher::session_options(options.session);
    SHUNT_ASSIGN(auto session, Session::create(model, chosen.session));
    return std::unique_ptr<Batcher>(
        new Batcher(std::make_unique<State>(std::move(model), chosen, std::move(session))));
  });
}

Result<std::unique_ptr<BatchStream>> Batcher::submit(BatchRequest request) {
  return guarded([&] { return state_->submit(std::move(request)); });
}

bool Batcher::step() {
  return state_->step_if_allowed();
}

BatcherStatistics Batcher::statistics() const {
  return state_->statistics();
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
