#include "engine/batch/batch_engine.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/batch/picked_token.h"
#include "engine/batch/prefix_keys.h"
#include "engine/session/sequence_adapters.h"
#include "engine/session/step_inputs.h"
#include "model/definition.h"
#include "shunt/message.h"

namespace shunt {

BatchEngine::BatchEngine(Session& session, BatcherOptions options, const std::atomic<bool>* cancel)
    : session_(session),
      options_(std::move(options)),
      cancel_(cancel),
      batch_(std::min(options_.session.batch, session.context())),
      vocabulary_(to_size(session.model().info().outputs)),
      budget_(options_.token_interval),
      threads_(options_.session.threads),
      free_(to_size(session.sequences())),
      adapters_(session.adapters().begin(), session.adapters().end()),
      next_deadline_(INFINITY) {
  if (!options_.clock) options_.clock = steady_seconds;
  if (session.trace() != nullptr) sampling_ = session.trace()->declare_host("sample");
  for (std::size_t i = 0; i < free_.size(); ++i)
    free_[i] = static_cast<std::int64_t>(free_.size() - 1 - i);
}

BatchEngine::~BatchEngine() {
  take_incoming();
  while (!jobs_.empty()) end(jobs_.begin()->second, BatchEnd::kCancelled);
}

Result<std::unique_ptr<BatchStream>> BatchEngine::submit(BatchRequest request,
                                                         std::optional<OwnSequence> own) {
  SHUNT_TRY(expect_logits(session_.model().info()));
  SHUNT_TRY(check_tokens(request.tokens, session_.model().info().vocabulary));
  if (request.max_tokens < -1)
    return invalid("max_tokens is {}; it may be -1 or more", request.max_tokens);
  if (request.alternatives < -1)
    return invalid("alternatives is {}; it may be -1 or more", request.alternatives);
  if (request.score_from < -1 || request.score_from == 0)
    return invalid("score_from is {}; it may be -1, or 1 or more", request.score_from);
  for (const std::int64_t end : request.message_ends) {
    if (end >= 1 && end <= std::ssize(request.tokens)) continue;
    return invalid("a message ends after {} tokens of a prompt of {}", end, request.tokens.size());
  }
  if (request.deadline && std::isnan(*request.deadline))
    return invalid("deadline is {}; it must be a number", *request.deadline);
  if (!own && std::ssize(request.tokens) > session_.context()) {
    return invalid("a prompt of {} can never fit a context of {}",
                   counted(request.tokens.size(), "token"), session_.context());
  }
  SHUNT_ASSIGN(Sampler sampler, Sampler::create(request.sampling));
  for (const std::int32_t token : request.tokens) sampler.accept(token);
  auto task = std::make_shared<BatchTask>(signal_);
  auto stream = std::make_unique<BatchStream>(task);
  BatchJob job = {.request = std::move(request),
                  .task = std::move(task),
                  .sampler = std::move(sampler),
                  .own = own};
  job.tokens = job.request.tokens;
  job.scored = job.request.score_from;
  if (job.request.adapters)
    SHUNT_TRY(check_adapters(*job.request.adapters, session_.model().info().adapters.size()));
  job.scope = adapters_key(adapters_of(job)) + '|' + job.request.scope;
  job.arrived = options_.clock();
  job.deadline = job.request.deadline ? job.arrived + *job.request.deadline : INFINITY;
  {
    const std::lock_guard lock(mutex_);
    job.order = next_order_;
    job.place = RequestQueue::place(job.order, {job.request.priority, job.request.scope});
    incoming_.emplace(next_order_, std::move(job));
    ++next_order_;
    ++statistics_.waiting;
  }
  signal_->set();
  return stream;
}

BatcherStatistics BatchEngine::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

bool BatchEngine::step() {
  const auto done = guarded([&]() -> Result<bool> { return make_step(); });
  if (done) return *done;
  // There was no memory for the step's own lists: the requests that run can't go on. Those that
  // wait are tried again.
  const bool any = !jobs_.empty();
  while (!running_.empty()) fail(*running_.back(), done.error());
  update_statistics();
  return any;
}

bool BatchEngine::make_step() {
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

/// Needs no memory, so that none is lost.
void BatchEngine::take_incoming() {
  std::map<std::int64_t, BatchJob> incoming;
  {
    const std::lock_guard lock(mutex_);
    if (incoming_.empty()) return;
    incoming.swap(incoming_);
  }
  for (auto& [order, job] : incoming) {
    some_cancelled_ = some_cancelled_ || job.task->is_cancelled();
    next_deadline_ = std::min(next_deadline_, job.deadline);
    queue_.add(std::move(job.place));
  }
  jobs_.merge(incoming);
}

void BatchEngine::update_statistics() {
  const std::lock_guard lock(mutex_);
  statistics_.waiting = queue_.size() + std::ssize(parked_) + std::ssize(incoming_);
  statistics_.running = std::ssize(running_);
  statistics_.computed_tokens = session_.computed();
  statistics_.taken = session_.taken();
  statistics_.host_cache = session_.host_cache();
}

/// Requests that their readers cancelled, and those whose time is over. Many requests may wait, so
/// they are looked at only if there is such a one.
bool BatchEngine::end_cancelled() {
  if (cancel_ != nullptr && cancel_->load()) return end_all_cancelled();
  const double now = options_.clock();
  const bool cancelled = std::exchange(some_cancelled_, false);
  if (!signal_->take_cancelled() && !cancelled && now < next_deadline_) return false;
  bool any = false;
  next_deadline_ = INFINITY;
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    BatchJob& job = (next++)->second;
    const bool is_cancelled = job.task->is_cancelled();
    if (!is_cancelled && job.deadline > now) {
      next_deadline_ = std::min(next_deadline_, job.deadline);
      continue;
    }
    end(job, is_cancelled ? BatchEnd::kCancelled : BatchEnd::kDeadline);
    any = true;
  }
  return any;
}

bool BatchEngine::end_all_cancelled() {
  const bool any = !jobs_.empty();
  while (!jobs_.empty()) end(jobs_.begin()->second, BatchEnd::kCancelled);
  return any;
}

/// Requests whose readers leave too many events make no more. Those that were paused wait again
/// once their readers have gone on.
void BatchEngine::look_at_readers() {
  const auto look = [&](BatchJob& job) {
    const std::size_t unread = job.task->unread();
    job.reader_is_slow = unread >= options_.unread_events ||
                         (job.reader_is_slow && unread > options_.unread_events / 2);
  };
  for (BatchJob* job : running_) look(*job);
  for (auto next = parked_.begin(); next != parked_.end();) {
    const auto place = next++;
    BatchJob& job = jobs_.at(place->first);
    look(job);
    if (!job.reader_is_slow) queue_.add(parked_.extract(place));
  }
}

/// Gives sequences to waiting requests as long as there is room for their prompts. The next one
/// waits for room: no smaller one overtakes it.
void BatchEngine::admit() {
  while (const auto order = queue_.next()) {
    BatchJob& job = jobs_.at(*order);
    std::int64_t promised = session_.taken();
    for (const BatchJob* other : running_) promised += std::max<std::int64_t>(1, other->left());
    const bool fits = running_.empty() || promised + job.left() + 1 <= session_.context();
    if (!job.own && (free_.empty() || !fits)) {
      // The sequence and the rows of a request whose reader does not read are of no use now.
      const auto slow =
          std::ranges::find_if(running_, [](const BatchJob* each) { return each->reader_is_slow; });
      if (slow == running_.end()) return;
      pause(**slow);
      continue;
    }
    const bool is_oldest = queue_.is_turn_of_oldest();
    // Nothing has changed if there is no memory for one of these. The request ends alone.
    const Status taken = guarded([&]() -> Status {
      running_.reserve(running_.size() + 1);
      if (!job.own) {
        SHUNT_TRY(session_.set_adapters(free_.back(), adapters_of(job)));
        SHUNT_TRY(session_.set_scope(free_.back(), job.request.scope));
        job.keys = prefix_keys(job.scope, job.tokens);
      }
      job.place = queue_.take();
      return ok();
    });
    if (!taken) {
      fail(job, taken.error());
      continue;
    }
    job.keeps_rows = is_oldest;
    running_.push_back(&job);
    start(job);
  }
}

std::span<const AdapterUse> BatchEngine::adapters_of(const BatchJob& job) const {
  return job.request.adapters ? *job.request.adapters : adapters_;
}

void BatchEngine::start(BatchJob& job) {
  if (job.own) {
    job.sequence = job.own->number;
    job.appended = job.own->cached;
  } else {
    job.sequence = free_.back();
    free_.pop_back();
  }
  if (job.admitted >= 0) return;
  job.admitted = options_.clock();
  job.result.wait_seconds = job.admitted - job.arrived;
}

/// A token for each request that generates, then pieces of prompts. `worked` becomes true if a
/// request ended or was paused.
std::vector<BatchEngine::Piece> BatchEngine::choose_pieces(bool& worked) {
  while (true) {
    std::vector<Piece> pieces = generating_pieces();
    const auto generating = std::ssize(pieces);
    const std::int64_t room = session_.context() - session_.taken() - generating;
    if (room >= 0) {
      add_prompts(pieces, generating, room);
      if (!pieces.empty() || !is_stuck()) return pieces;
    }
    pause_one();
    worked = true;
  }
}

std::vector<BatchEngine::Piece> BatchEngine::generating_pieces() {
  std::vector<Piece> pieces;
  for (BatchJob* job : running_) {
    if (job->generates() && !job->reader_is_slow) pieces.push_back({job, 1, true});
  }
  return pieces;  // of a batcher fewer than a batch: see Batcher::session_options()
}

/// Whether some request could go on if there were room.
bool BatchEngine::is_stuck() const {
  return std::ranges::any_of(
      running_, [](const BatchJob* job) { return !job->reader_is_slow && job->left() > 0; });
}

void BatchEngine::add_prompts(std::vector<Piece>& pieces, std::int64_t generating,
                              std::int64_t room) {
  std::int64_t budget = batch_ - generating;
  if (budget > 0) budget = budget_.prompt_tokens(generating, budget);
  std::set<std::uint64_t> computing;  // prefixes, up to the end of a block
  for (BatchJob* const job : running_) {
    if (job->generates() || job->left() == 0 || job->reader_is_slow) continue;
    if (job->own) {  // the session has the numbers if it does not fit
      pieces.push_back({job, job->left(), job->picks()});
      continue;
    }
    if (budget <= 0) break;
    room -= reuse(*job, room);
    const auto first = to_size(job->appended / kCacheBlock);
    const bool at_start = job->appended % kCacheBlock == 0;
    if (at_start && first < job->keys.size() && computing.contains(job->keys[first])) continue;
    std::int64_t count = std::min({job->left(), budget, room});
    if (count <= 0) continue;
    if (job->scores()) count = std::min(count, scored_at_once(*job));
    const auto end = to_size((job->appended + count - 1) / kCacheBlock);
    for (std::size_t i = first; i <= end && i < job->keys.size(); ++i)
      computing.insert(job->keys[i]);
    pieces.push_back({job, count, job->picks() && count == job->left()});
    budget -= count;
    room -= count;
  }
}

/// Tokens of a prompt whose scores its reader may leave; one in any case.
std::int64_t BatchEngine::scored_at_once(const BatchJob& job) const {
  const std::size_t unread = std::min(job.task->unread(), options_.unread_events);
  const auto room =
      static_cast<std::int64_t>(std::min(options_.unread_events - unread, job.tokens.size()));
  // A token is scored by the one before it.
  return std::max<std::int64_t>(1, job.scored - job.appended - 1 + room);
}

/// Tokens of a prompt that the cache has, at most `room`; how much room they took.
std::int64_t BatchEngine::reuse(BatchJob& job, std::int64_t room) {
  if (room <= 0) return 0;
  const std::int64_t before = session_.taken();
  auto next = std::span(job.tokens).subspan(to_size(job.appended));
  // The token before one that is scored has to be computed; the last one of these always is.
  if (job.scores()) {
    if (job.scored <= job.appended) return 0;
    next = next.first(to_size(job.scored - job.appended));
  }
  // After an error they are computed.
  (void)session_.append_cached(job.sequence, next.first(std::min(next.size(), to_size(room))));
  const std::int64_t found = session_.length(job.sequence) - job.appended;
  job.appended += found;
  if (job.result.picked_tokens == 0) job.result.cached_tokens += found;
  return session_.taken() - before;
}

/// A request gives its rows to others: one whose reader is slow, else the youngest of the lowest
/// priority. It ends if it has all of them, or must not lose them. Of those that keep their rows
/// the oldest is the last one, whatever its priority. It gets a token each time that it runs, so it
/// ends.
void BatchEngine::pause_one() {
  const auto rank = [](const BatchJob* job) {
    const std::int64_t priority = job->keeps_rows ? 0 : job->request.priority;
    return std::tuple(!job->reader_is_slow, job->keeps_rows, priority, -job->order);
  };
  BatchJob& job = **std::ranges::min_element(running_, {}, rank);
  if (job.own || (running_.size() == 1 && !job.reader_is_slow))
    return end(job, BatchEnd::kContextFull);
  pause(job);
}

void BatchEngine::pause(BatchJob& job) {
  if (job.reader_is_slow) {
    parked_.insert(std::move(job.place));
  } else {
    queue_.add(std::move(job.place));
  }
  stop(job);
  if (job.result.picked_tokens == 0) job.result.cached_tokens = 0;
  ++job.result.pauses;
  const std::lock_guard lock(mutex_);
  ++statistics_.pauses;
}

/// Takes a running request's sequence away.
void BatchEngine::stop(BatchJob& job) {
  std::erase(running_, &job);
  const std::int64_t sequence = std::exchange(job.sequence, -1);
  job.keeps_rows = false;
  if (job.own) return;
  (void)session_.truncate(0, sequence);
  free_.push_back(sequence);
  job.appended = 0;
}

/// Tokens that are scored are computed in calls of their own, which make many logits each.
void BatchEngine::compute(std::span<const Piece> pieces) {
  std::vector<Piece> together;
  std::vector<Piece> scored;
  for (const Piece& piece : pieces) {
    const BatchJob& job = *piece.job;
    const bool scores = job.scores() && job.appended + piece.count >= job.scored;
    (scores ? scored : together).push_back(piece);
  }
  if (!together.empty()) compute_together(together);
  for (const Piece& piece : scored) compute_scored(piece);
}

void BatchEngine::compute_together(std::span<const Piece> pieces) {
  std::vector<SequenceTokens> tokens;
  std::int64_t generating = 0;
  std::int64_t prompt = 0;
  for (const auto& [job, count, logits] : pieces) {
    tokens.push_back({job->sequence,
                      std::span(job->tokens).subspan(to_size(job->appended), to_size(count)),
                      logits, job->left() - count, job->request.message_ends});
    (job->generates() ? generating : prompt) += count;
  }
  const double start = options_.clock();
  const auto logits = session_.append_each(tokens, cancel_);
  budget_.observe(generating, prompt, options_.clock() - start);
  if (!logits) return fail(pieces, logits.error());
  add_computed(pieces);
  std::vector<Answer> answers;
  std::vector<BatchJob*> over;
  std::size_t made = 0;
  for (const Piece& piece : pieces) {
    const std::size_t place = made;
    if (piece.logits) made += vocabulary_;
    if (piece.job->left() > 0) continue;
    if (piece.job->picks()) {
      answers.push_back({piece.job, logits->subspan(place, vocabulary_)});
    } else {
      over.push_back(piece.job);
    }
  }
  pick(answers);
  for (BatchJob* const job : over) end(*job, BatchEnd::kLength);
}

void BatchEngine::compute_scored(const Piece& piece) {
  BatchJob& job = *piece.job;
  std::vector<float> last;  // of the prompt
  Status scored;
  const auto visit = [&](std::size_t begin, std::span<const float> logits) {
    const std::size_t first = to_size(job.appended) + begin;
    if (scored) scored = score(job, first, logits);
    const bool ends = first + logits.size() / vocabulary_ == job.tokens.size();
    if (!ends || !piece.logits) return;
    const auto own = logits.last(vocabulary_);
    last.assign(own.begin(), own.end());
  };
  const double start = options_.clock();
  const Status done = session_.append_all(
      std::span(job.tokens).subspan(to_size(job.appended), to_size(piece.count)), visit, cancel_,
      job.sequence, std::max<std::int64_t>(0, job.scored - 1 - job.appended));
  budget_.observe(0, piece.count, options_.clock() - start);
  if (!done) return fail(job, done.error());
  add_computed({&piece, 1});
  if (!scored) return fail(job, scored.error());
  if (job.left() > 0) return;
  if (!job.picks()) return end(job, BatchEnd::kLength);
  const Answer only = {&job, last};
  pick({&only, 1});
}

/// Makes the events of prompt tokens from the logits of token `first` and those after it.
Status BatchEngine::score(BatchJob& job, std::size_t first, std::span<const float> logits) {
  // A token is predicted by the one before it.
  job.scored = std::max(job.scored, static_cast<std::int64_t>(first) + 1);
  const std::size_t begin = to_size(job.scored);
  const std::size_t end =
      std::min(job.request.tokens.size(), first + logits.size() / vocabulary_ + 1);
  if (begin >= end) return ok();
  std::vector<Result<BatchEvent>> events(end - begin, Result<BatchEvent>(BatchEvent()));
  threads_.run(events.size(), vocabulary_, [&](std::size_t i) {
    const std::size_t token = begin + i;
    const auto by = logits.subspan((token - 1 - first) * vocabulary_, vocabulary_);
    // There may be no memory for a list of alternatives.
    events[i] = guarded([&]() -> Result<BatchEvent> {
      return score_token(job.request.tokens[token], job.request.alternatives, by);
    });
  });
  for (Result<BatchEvent>& event : events) {
    if (!event) return Error(event.error());
    job.task->push(std::move(*event));
    ++job.scored;
  }
  return ok();
}

void BatchEngine::add_computed(std::span<const Piece> pieces) {
  const double now = options_.clock();
  for (const Piece& piece : pieces) {
    BatchJob& job = *piece.job;
    job.appended += piece.count;
    job.result.computed_tokens += piece.count;
    if (piece.logits && job.answered < 0) job.answered = now;
  }
  const std::lock_guard lock(mutex_);
  ++statistics_.steps;
}

void BatchEngine::pick(std::span<const Answer> answers) {
  std::vector<Result<BatchEvent>> events(answers.size(), Result<BatchEvent>(BatchEvent()));
  threads_.run(answers.size(), vocabulary_, [&](std::size_t i) {
    BatchJob& job = *answers[i].job;
    const TraceScope scope(session_.trace(), sampling_);
    // A filter may throw.
    events[i] = guarded(
        [&] { return pick_token(job.request, job.sampler, job.picked(), answers[i].logits); });
  });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    BatchJob& job = *answers[i].job;
    const Status added = guarded([&]() -> Status {
      if (!events[i]) return std::move(events[i].error());
      add_token(job, std::move(*events[i]));
      return ok();
    });
    if (!added) fail(job, added.error());
  }
}

void BatchEngine::add_token(BatchJob& job, BatchEvent event) {
  const std::int32_t token = event.token;
  if (is_end(job, token)) return end(job, BatchEnd::kEndOfSequence);
  if (std::ranges::count(job.request.stop_tokens, token) > 0) return end(job, BatchEnd::kStopToken);
  job.tokens.push_back(token);
  job.keeps_rows = false;
  job.task->push(std::move(event));
  ++job.result.picked_tokens;
  if (job.result.picked_tokens == job.request.max_tokens) return end(job, BatchEnd::kLength);
  if (std::ssize(job.tokens) > session_.context()) return end(job, BatchEnd::kContextFull);
}

bool BatchEngine::is_end(const BatchJob& job, std::int32_t token) const {
  const text::Tokenizer& tokenizer = session_.model().tokenizer();
  return !job.request.ignore_end && tokenizer.contains(token) &&
         tokenizer.is_end_of_generation(token);
}

void BatchEngine::fail(std::span<const Piece> pieces, const Error& error) {
  for (const Piece& piece : pieces) fail(*piece.job, error);
}

void BatchEngine::fail(BatchJob& job, const Error& error) {
  if (error.code() == ErrorCode::kCancelled) return end(job, BatchEnd::kCancelled);
  const Status copied = guarded([&]() -> Status {
    job.result.error = error;
    return ok();
  });
  if (!copied) job.result.error = copied.error();
  end(job, BatchEnd::kFailed);
}

/// Needs no memory, so that no reader waits for an end in vain.
void BatchEngine::end(BatchJob& job, BatchEnd reason) {
  if (job.sequence >= 0) {
    stop(job);
  } else if (parked_.erase(job.order) == 0) {
    (void)queue_.remove(job.order);
  }
  const double now = options_.clock();
  job.result.reason = reason;
  if (job.admitted < 0) {
    job.result.wait_seconds = now - job.arrived;
  } else {
    job.result.prompt_seconds = (job.answered < 0 ? now : job.answered) - job.admitted;
    if (job.answered >= 0) job.result.generate_seconds = now - job.answered;
  }
  job.task->end(std::move(job.result));
  jobs_.erase(job.order);
}

}  // namespace shunt
