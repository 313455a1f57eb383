// A stream is a queue and a thread. ORDER decides when work happens: eager at once, lazy not before
// somebody waits, a seed after pauses that let streams overtake each other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "ascend/counts.h"
#include "ascend/runtime/failures.h"
#include "ascend/runtime/state.h"
#include "ascend/runtime/task.h"

namespace ascend_twin {

/// Of a capturing stream: takes tasks instead of the queue (capture/capture.h implements it).
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Keeps the task, or refuses it and invalidates the capture.
  virtual Status record(Stream& stream, TaskPointer task) = 0;
  /// A call that the capture forbids.
  virtual void invalidate() {}
};

struct Watch;  // strict/watch.h

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(const std::shared_ptr<Context>& context);

  /// In the stream's turn, or into the capture. The task's number is the ticket to wait for.
  Status submit(TaskPointer task, std::uint64_t* ticket = nullptr);
  /// Without a look at captures: replays, waits of the twin itself. 0 if the stream is closed.
  std::uint64_t queue(TaskPointer task, std::shared_ptr<Watch> watch = nullptr);

  /// Waits until the ticket's work is done; false when the milliseconds are over (-1: for ever).
  /// check_can_wait() comes before (thread.h).
  bool wait_for(std::uint64_t ticket, std::int64_t milliseconds = -1);
  std::uint64_t last_ticket();
  bool is_idle();
  /// Work up to the ticket is not held back, as something waits for it.
  void hurry(std::uint64_t ticket);

  /// The late error, which is told once.
  Status take_error();
  void keep_error(Status code);

  /// Queued work is left out; records of events in it are still reached. The code is the
  /// late error.
  void abort(Status code);
  /// The work that runs was dropped: a body that blocks gives up.
  bool is_dropping();
  /// No more work comes.
  bool is_closing();

  /// No more work comes. The thread ends after queued work, or `drop` leaves that out, except
  /// for records of events.
  void close(bool drop);
  void join();  ///< after close(); not from the stream's own thread

  std::shared_ptr<Context> context() const { return context_.lock(); }
  std::int32_t device() const { return device_; }
  std::int32_t id() const { return id_; }

  std::shared_ptr<Recorder> recorder();
  void set_recorder(std::shared_ptr<Recorder> recorder);

  std::atomic<bool> stops_at_failure{false};  ///< aclrtSetStreamFailureMode

 private:
  struct Item {
    TaskPointer task;
    std::uint64_t ticket = 0;
    std::uint32_t thread = 0;
    std::shared_ptr<Watch> watch;
  };
  void work();
  bool take(Item& item);
  bool is_left_out(const Item& item);
  void hold_back(const Item& item);
  /// Does not end before the setting is 0, or the stream is closed or dropped.
  void hang(const Item& item);
  Failure perform(const Item& item);

  std::weak_ptr<Context> context_;
  std::int32_t device_;
  std::int32_t id_;
  bool saturates_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::uint64_t submitted_ = 0, completed_ = 0, urgent_ = 0;
  std::uint64_t dropped_ = 0;  ///< tasks up to this one are left out
  bool closing_ = false, started_ = false, ended_ = false;
  Status error_ = ACL_SUCCESS;
  std::shared_ptr<Recorder> recorder_;
  /// Until join(): the thread may hold the object a little longer.
  std::optional<InLedger<ASCEND_TWIN_LIVE_STREAMS>> in_ledger_{std::in_place};
};

/// The stream of a handle for the calling thread's context: null is the default stream. 107003 for
/// a stream of another context, 107017 for one that is no live stream.
Status stream_of(aclrtStream handle, std::shared_ptr<Stream>* stream);

}  // namespace ascend_twin
