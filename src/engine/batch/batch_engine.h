// Requests that a session computes together, step by step. Batcher adds a thread and a session of
// its own to it. generate(), perplexity() and measure_speed() use one with their caller's session.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/batch/batch_job.h"
#include "engine/batch/request_queue.h"
#include "engine/batch/sampling_threads.h"
#include "engine/batch/step_budget.h"
#include "shunt/batcher.h"

namespace shunt {

/// One thread makes the steps. Any thread may submit requests, and read the statistics.
///
/// Requests of a session's owner continue sequences of the owner (OwnSequence). Their prompts are
/// computed in one call of the session, so after an error none of it is in the sequence. They have
/// no message_ends. They never pause, and the sequence keeps the tokens. Other requests get any
/// sequence, which is empty again when they end. An engine has requests of one kind only.
class BatchEngine {
 public:
  /// `session` must outlive it. Once `cancel` is true, the step under way stops, and all requests
  /// end. It may be null.
  BatchEngine(Session& session, BatcherOptions options, const std::atomic<bool>* cancel = nullptr);
  /// Cancels all requests.
  ~BatchEngine();
  BatchEngine(const BatchEngine&) = delete;
  BatchEngine& operator=(const BatchEngine&) = delete;

  /// The errors of Batcher::submit().
  Result<std::unique_ptr<BatchStream>> submit(BatchRequest request,
                                              std::optional<OwnSequence> own = {});
  /// False if there was nothing to do.
  bool step();
  /// Until a request ends by its deadline; negative if one is over. For the thread of the steps.
  double seconds_to_deadline() const { return next_deadline_ - options_.clock(); }
  BatcherStatistics statistics() const;
  /// Is set when there is something to do.
  BatchSignal& signal() { return *signal_; }

 private:
  /// Tokens of a request that a step computes.
  struct Piece {
    BatchJob* job = nullptr;
    std::int64_t count = 0;
    bool logits = false;  ///< whether those of its last token are made
  };
  /// A request whose next token is picked from these logits.
  struct Answer {
    BatchJob* job = nullptr;
    std::span<const float> logits = {};
  };

  bool make_step();
  void take_incoming();
  void update_statistics();
  bool end_cancelled();
  bool end_all_cancelled();
  void look_at_readers();
  void admit();
  std::span<const AdapterUse> adapters_of(const BatchJob& job) const;
  void start(BatchJob& job);

  std::vector<Piece> choose_pieces(bool& worked);
  std::vector<Piece> generating_pieces();
  bool is_stuck() const;
  void add_prompts(std::vector<Piece>& pieces, std::int64_t generating, std::int64_t room);
  std::int64_t scored_at_once(const BatchJob& job) const;
  std::int64_t reuse(BatchJob& job, std::int64_t room);
  void pause_one();
  void pause(BatchJob& job);
  void stop(BatchJob& job);

  void compute(std::span<const Piece> pieces);
  void compute_together(std::span<const Piece> pieces);
  void compute_scored(const Piece& piece);
  Status score(BatchJob& job, std::size_t first, std::span<const float> logits);
  void add_computed(std::span<const Piece> pieces);
  void pick(std::span<const Answer> answers);
  void add_token(BatchJob& job, BatchEvent event);
  bool is_end(const BatchJob& job, std::int32_t token) const;
  void fail(std::span<const Piece> pieces, const Error& error);
  void fail(BatchJob& job, const Error& error);
  void end(BatchJob& job, BatchEnd reason);

  Session& session_;
  BatcherOptions options_;
  const std::atomic<bool>* cancel_;
  std::int64_t batch_;
  std::size_t vocabulary_;
  std::uint32_t sampling_ = 0;  // with a trace: its number for picking a token
  StepBudget budget_;
  SamplingThreads threads_;
  std::shared_ptr<BatchSignal> signal_ = std::make_shared<BatchSignal>();

  // Of the thread that makes the steps.
  std::map<std::int64_t, BatchJob> jobs_;  // by order
  RequestQueue queue_;
  std::vector<BatchJob*> running_;    // those admitted first come first
  std::vector<std::int64_t> free_;    // sequences
  std::vector<AdapterUse> adapters_;  // of requests that name none
  RequestQueue::Places parked_;       // of those that wait for their readers
  double next_deadline_;              // none is earlier
  bool some_cancelled_ = false;       // before it was taken in

  mutable std::mutex mutex_;  // of the rest
  std::int64_t next_order_ = 0;
  std::map<std::int64_t, BatchJob> incoming_;  // by order
  BatcherStatistics statistics_;
};

}  // namespace shunt
