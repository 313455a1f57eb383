// A capture takes the tasks of streams that would execute otherwise; the model that it leaves is a
// list of them. A captured task is the very Task of runtime/task.h, addresses baked in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ascend/capture/model.h"
#include "ascend/runtime/stream.h"

namespace ascend_twin {

/// From Begin to End. A violation of its rules invalidates it: End answers 507903. Lock order: a
/// capture's own, then that of the list of captures, then a stream's or event's.
class Capture : public Recorder, public std::enable_shared_from_this<Capture> {
 public:
  enum class Mode : std::int32_t { kGlobal, kThreadLocal, kRelaxed };

  /// The stream, and its context's default stream, hand their work to the capture from here on.
  static Status begin(const std::shared_ptr<Stream>& origin, Mode mode);
  /// Of this stream; null if it is not captured, even where its context's other streams are.
  static std::shared_ptr<Capture> of(Stream& stream);

  Capture(const std::shared_ptr<Stream>& origin, Mode mode);
  Status record(Stream& stream, TaskPointer task) override;
  void invalidate() override;
  bool is_valid() const;
  bool has(const Stream& stream) const;
  bool is_origin(const Stream& stream) const { return origin_ == &stream; }
  Mode mode() const { return mode_; }
  std::thread::id thread() const { return thread_; }
  Model* model() const { return model_.get(); }

  /// 107033 within a group, or without one.
  Status begin_group(Stream& stream);
  Status end_group(Stream& stream, std::shared_ptr<TaskGroup>* group);

  /// Streams execute again. 107025 if work of a stream that joined is not waited for, 507903 if the
  /// capture is invalid.
  Status end(std::shared_ptr<Model>* model);
  void detach();

 private:
  using Clock = std::vector<std::uint64_t>;  ///< of each lane: how many of its tasks come before
  /// A stream of the capture.
  struct Lane {
    std::weak_ptr<Stream> stream;
    const Stream* key = nullptr;
    Clock clock;
  };
  struct Use {
    std::size_t lane = 0;
    std::uint64_t number = 0;
    TaskPointer task;
  };

  Status refuse_and_invalidate(Status code, const std::string& reason);
  Lane* lane_of(const Stream& stream);
  Status join(Stream& stream, const Task& task);
  Status follow(const Task& task, Lane& lane, bool* keeps);
  Status check_memory(const Task& task);
  Status check_order(std::size_t lane, const TaskPointer& task);

  const Stream* origin_;
  std::weak_ptr<Context> context_;
  Mode mode_;
  std::thread::id thread_;
  mutable std::mutex mutex_;
  bool valid_ = true;
  bool is_over_ = false;  ///< detached from its streams
  std::shared_ptr<Model> model_;
  std::vector<TaskPointer> tasks_;
  std::vector<Lane> lanes_;
  std::map<std::shared_ptr<Event>, Clock> records_;
  std::vector<Use> uses_;  ///< strict mode, with several lanes
  std::map<const Stream*, std::vector<std::size_t>> open_groups_;
};

/// For calls that a GLOBAL capture of any thread forbids (aclrtMemset, aclrtMemcpy, ...): 107030,
/// and that capture is invalid. Threads exchange their mode to be left alone.
Status check_no_global_capture();
/// For calls on a capturing stream that would wait for it (synchronise, query, destroy): 107027,
/// and the capture is invalid.
Status check_not_captured(Stream& stream);

}  // namespace ascend_twin
