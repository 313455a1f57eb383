// ACL's streams and events, for EventStream.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend_support/event_clock.h"
#include "backend_support/graph_cache.h"
#include "backend_support/native_stream.h"
#include "backend_support/pinned_memory.h"
#include "backends/cann/binding.h"
#include "backends/cann/options.h"

namespace shunt::cann {

/// The handle of a stream, which its events use as well: ACL's events tell nothing of failed tasks,
/// so that the end of a wait for an event asks the streams. Thread-safe.
class StreamState {
 public:
  explicit StreamState(std::shared_ptr<const DeviceContext> context)
      : context_(std::move(context)) {}
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState();
  Status open();

  const DeviceContext& context() const { return *context_; }
  StreamHandle handle() const { return handle_; }
  /// Work was submitted, and nothing has asked for its failure since.
  void touch() { ++submitted_; }
  /// Later failures of this stream include those of the other.
  void add_awaited(const std::shared_ptr<StreamState>& other);
  void add_faults(const std::shared_ptr<FaultCounters>& faults);
  /// Forgets the streams that this one waited for: they may wait for this one.
  void forget_awaited();
  /// A run ended early: counters of checks may be left over.
  void run_failed();
  /// Waits until the stream and those that it waited for are idle, and keeps their failures. False
  /// if `most` has passed before.
  Result<bool> collect(std::chrono::milliseconds most);
  /// The first failure, known so far; asks the vendor if the stream is idle.
  std::optional<NativeFailure> failure();
  bool is_idle() const;
  /// Forgets failures. All work must have ended.
  Status recover();

 private:
  Result<bool> collect_own(std::chrono::milliseconds most);
  std::vector<std::shared_ptr<StreamState>> awaited();

  std::shared_ptr<const DeviceContext> context_;
  StreamHandle handle_ = nullptr;
  std::atomic<std::uint64_t> submitted_ = 0;
  std::mutex collecting_;  // while the vendor is asked
  std::mutex mutex_;       // of all that follows
  std::uint64_t collected_ = 0;
  bool run_failed_ = false;
  std::optional<NativeFailure> failure_;
  std::vector<std::shared_ptr<FaultCounters>> faults_;  // of runs since recover()
  std::vector<std::shared_ptr<StreamState>> awaited_;
};

/// A captured run. The vendor's library keeps streams for it.
class CapturedModel {
 public:
  CapturedModel(std::shared_ptr<const DeviceContext> context, ModelHandle handle)
      : context_(std::move(context)), handle_(handle) {}
  CapturedModel(const CapturedModel&) = delete;
  CapturedModel& operator=(const CapturedModel&) = delete;
  ~CapturedModel() { context_->release<&Symbols::destroy_model>(handle_); }
  ModelHandle handle() const { return handle_; }

 private:
  std::shared_ptr<const DeviceContext> context_;
  ModelHandle handle_;
};

class CannStream final : public NativeStream, private WorkspaceReserve {
 public:
  /// `clock`: of timed events; null if the library does not know their times.
  static Result<std::unique_ptr<CannStream>> create(std::shared_ptr<const DeviceContext> context,
                                                    std::shared_ptr<EventClock> clock,
                                                    const CannOptions& options);
  ~CannStream() override;

  Result<std::unique_ptr<NativeEvent>> create_event(bool timed) override;
  Status run(std::uint64_t task, Binding& binding, const RunArgs& args) override;
  Status write(std::uint64_t task, Address to, std::span<const std::byte> from) override;
  Status read(std::uint64_t task, std::span<std::byte> to, Address from) override;
  Status copy(std::uint64_t task, Address to, Address from, std::size_t bytes) override;
  Status write_2d(std::uint64_t task, Address to, const std::byte* from,
                  const CopyShape& shape) override;
  Status read_2d(std::uint64_t task, std::byte* to, Address from, const CopyShape& shape) override;
  Status record(NativeEvent& event) override;
  Result<bool> wait_for(NativeEvent& event) override;
  std::optional<NativeFailure> failure() override { return state_->failure(); }
  bool is_busy() override { return !state_->is_idle(); }
  Status recover() override;
  std::string nodes_of(const Binding& binding) const override;

 private:
  CannStream(std::shared_ptr<const DeviceContext> context, std::shared_ptr<EventClock> clock,
             const CannOptions& options);
  template <auto Member, class... Arguments>
  Status submit(Arguments... arguments);
  Result<DevicePointer> at_least(std::size_t bytes) override;
  Result<DevicePointer> until_end(std::size_t bytes) override;
  bool copies_rows(const CopyShape& shape) const;
  /// Waits within a submission for all work before it. Its failures stay known.
  Status wait_until_idle() const;
  Status run_again(CannBinding& binding, const RunArgs& args, const GraphKey& key);
  Status call(CannBinding& binding, const RunArgs& args, Recording* recording = nullptr);
  Status run_captured(CannBinding& binding, const RunArgs& args, const GraphKey& key);
  Result<std::shared_ptr<CapturedModel>> capture(CannBinding& binding, const RunArgs& args);

  std::shared_ptr<const DeviceContext> context_;
  std::shared_ptr<EventClock> clock_;
  std::shared_ptr<StreamState> state_;
  std::unique_ptr<Allocation> reserve_;
  std::vector<std::unique_ptr<Allocation>> extras_;  // of the last run that needed some
  bool captures_;  // steps that come again; else their executors are kept
  bool captures_prompts_;
  bool is_capturing_ = false;
  std::size_t most_graphs_;
  GraphCache<std::shared_ptr<CapturedModel>> graphs_;
  GraphCache<std::shared_ptr<Recording>> recordings_;
  std::size_t most_executors_;
  std::vector<std::uint64_t> unrepeatable_;  // bindings with an executor that can't be kept
  std::vector<GraphKey> seen_;               // the last runs that came once, the newest last
};

}  // namespace shunt::cann
