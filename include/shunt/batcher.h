/// \file
/// Requests of many users at once: each step of the model computes a token for every running
/// request, and pieces of prompts. Include it for servers and for programs that generate many texts
/// together. engine.h has sessions, whose callers choose the tokens of each step.
///
/// \code
/// SHUNT_ASSIGN(const auto batcher, Batcher::create(model));
/// SHUNT_ASSIGN(const auto stream, batcher->submit({.tokens = prompt, .max_tokens = 32}));
/// while (const auto event = stream->next()) {
///   if (event->end) break;
///   std::cout << event->token << "\n";
/// }
/// \endcode
///
/// Threads: submit() and the streams may be used from any thread. One thread of the batcher makes
/// the steps. No caller waits for a step, except in BatchStream::next(), Batcher::memory() and
/// Batcher::notes().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shunt/engine.h"

namespace shunt {

/// Options of Batcher::create().
struct BatcherOptions {
  /// The session that computes all requests. `sequences` of them run at once. The context is that
  /// of all running requests together. See Batcher::session_options().
  SessionOptions session = {.sequences = 64};
  /// The time in seconds between two tokens of a running request that prompts of others may cause.
  /// 0: twice the time of a step without prompts, at least 0.02.
  double token_interval = 0;
  /// Events of a request that its reader has not taken, at most: then the request pauses until half
  /// of them are taken. At least 1.
  std::size_t unread_events = 1024;
  /// False: the program calls Batcher::step() itself.
  bool own_thread = true;
  /// Seconds from any fixed time; empty: of a steady clock. For tests. Called from any thread.
  std::function<double()> clock = {};
};

/// A prompt, and how to continue it.
struct BatchRequest {
  std::vector<std::int32_t> tokens = {};  ///< of the prompt, at least one
  /// How many of these tokens there are up to the end of each message of a conversation. A model
  /// with states keeps a copy of them there (SequenceTokens::message_ends). Others need none.
  std::vector<std::int64_t> message_ends = {};
  std::int64_t max_tokens = -1;  ///< -1: until the end of the sequence or of the context
  SamplingOptions sampling = {};
  bool ignore_end = false;                     ///< continue after an end-of-sequence token
  std::vector<std::int32_t> stop_tokens = {};  ///< any of these ends the text; it is not an event
  /// A larger number goes first. Requests of the same priority take turns by scope.
  std::int64_t priority = 0;
  /// Seconds from now until the request ends, done or not; not given: never. 0 or less: at once.
  std::optional<double> deadline = {};
  /// Its cache is used only by requests of the same scope and adapters. Requests of a priority are
  /// taken in turn by scope, so that one user's thousand do not delay another's one.
  std::string scope = {};
  /// Its adapters (Session::set_adapters()); not given: those of the session's options.
  std::optional<std::vector<AdapterUse>> adapters = {};
  /// Log-probabilities: -1: none; 0: that of each picked token; N: also those of the N most likely
  /// tokens.
  std::int64_t alternatives = -1;
  /// The first token of the prompt that gets an event with its log-probability, before all tokens
  /// that are picked; 1 or more, because none comes before token 0. -1: none. The logits from the
  /// token before it on are made, in steps that each request has alone.
  std::int64_t score_from = -1;
  /// Changes the logits of the next token; minus infinity rules one out. Called from any thread of
  /// the batcher, for one request by one thread at a time. May be empty.
  std::function<void(std::span<const std::int32_t> picked, std::span<float> logits)> filter = {};
  /// Picks the next token, instead of `sampling` and `filter`. Called as `filter` is. An error ends
  /// the request, and so does a token that is not of the vocabulary. May be empty.
  std::function<Result<std::int32_t>(std::span<const std::int32_t> picked,
                                     std::span<const float> logits)>
      pick = {};
};

/// Why a request ended.
enum class BatchEnd : std::uint8_t {
  kEndOfSequence,
  kStopToken,
  kLength,
  kContextFull,  ///< its own tokens fill the context
  kCancelled,
  kDeadline,
  kFailed,  ///< BatchResult::error
};
/// "end of sequence", "stop token", "length", "context full", "cancelled", "deadline", "failed".
std::string_view to_string(BatchEnd end);

/// The end of a request, and its cost.
struct BatchResult {
  BatchEnd reason = BatchEnd::kLength;
  std::optional<Error> error = {};   ///< of kFailed
  std::int64_t cached_tokens = 0;    ///< of the prompt, found in the cache
  std::int64_t computed_tokens = 0;  ///< those that were computed again after a pause included
  std::int64_t picked_tokens = 0;
  std::int64_t pauses = 0;      ///< how often its place in the cache was given to others
  double wait_seconds = 0;      ///< until it ran for the first time
  double prompt_seconds = 0;    ///< from then to the logits of the first token
  double generate_seconds = 0;  ///< from there to the end
};

/// A token, or the end.
struct BatchEvent {
  std::int32_t token = -1;
  bool in_prompt = false;  ///< it was not picked: BatchRequest::score_from
  /// Of the model, before sampling options; if asked for. Not finite if the model predicts nothing.
  double log_probability = 0;
  /// The likeliest tokens with theirs, the likeliest first.
  std::vector<std::pair<std::int32_t, float>> alternatives = {};
  std::optional<BatchResult> end = {};  ///< given: there is no token, and no event follows
};

class BatchTask;

/// The events of a request. Its destructor cancels the request.
class BatchStream {
 public:
  /// For the batcher.
  explicit BatchStream(std::shared_ptr<BatchTask> task) : task_(std::move(task)) {}
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// The next event, waited for; nothing after the end.
  std::optional<BatchEvent> next();
  /// The same if there is one now.
  std::optional<BatchEvent> poll();
  /// Ends the request at the next step. The end is an event, unless it has ended already.
  void cancel();

 private:
  std::shared_ptr<BatchTask> task_;
};

/// Numbers of a batcher, since it was made.
struct BatcherStatistics {
  std::int64_t waiting = 0;  ///< requests now
  std::int64_t running = 0;
  std::int64_t steps = 0;
  std::int64_t computed_tokens = 0;
  std::int64_t pauses = 0;  ///< of running requests, for want of cache rows
  std::int64_t taken = 0;   ///< tokens in the context now: Session::taken()
  HostCacheUse host_cache = {};
};

class Batcher {
 public:
  /// The options of the session that a batcher creates. Prefixes are reused in any case. A batch
  /// has room for a token of each sequence, and one more. LoadOptions::session needs the same.
  static SessionOptions session_options(const SessionOptions& options);
  /// InvalidArgument for options out of range; else the errors of Session::create().
  static Result<std::unique_ptr<Batcher>> create(std::shared_ptr<const Model> model,
                                                 const BatcherOptions& options = {});
  /// Cancels all requests. Streams may outlive it.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Adds a request. InvalidArgument if a token or an option is out of range, or if the prompt can
  /// never fit the context; the message has the numbers. A prompt of the whole context gets one
  /// token, as in generate().
  Result<std::unique_ptr<BatchStream>> submit(BatchRequest request);
  /// Without a thread of its own: makes one step. False if there was nothing to do, or if it has a
  /// thread. From one thread at a time.
  bool step();
  /// The numbers as of now.
  BatcherStatistics statistics() const;
  /// Tokens that the cache has room for.
  std::int64_t context() const;
  /// Bytes that its session has allocated. Waits for the end of a step, so a filter must not call
  /// it.
  SessionMemory memory() const;
  /// Session::notes() of its session. Waits as memory().
  std::vector<std::string> notes() const;

 private:
  class State;
  explicit Batcher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shunt
