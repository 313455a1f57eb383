#include "ascend/capture/capture.h"

#include <algorithm>

#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/resets.h"
#include "ascend/runtime/event_state.h"
#include "ascend/runtime/thread.h"

namespace ascend_twin {
namespace {

/// Captures that began and did not end; weak, as a stream that goes takes its capture along.
struct Active {
  std::mutex mutex;
  std::vector<std::weak_ptr<Capture>> captures;
};
Active& active() {
  static auto* all = new Active;  // no destructor runs at exit
  return *all;
}

std::vector<std::shared_ptr<Capture>> active_captures() {
  const std::lock_guard lock(active().mutex);
  std::erase_if(active().captures, [](const auto& capture) { return capture.expired(); });
  std::vector<std::shared_ptr<Capture>> live;
  for (const auto& weak : active().captures) {
    if (auto capture = weak.lock()) live.push_back(std::move(capture));
  }
  return live;
}

bool overlaps(const Extent& a, const Extent& b) {
  const auto from = [](const Extent& extent) {
    return reinterpret_cast<std::uintptr_t>(extent.address);
  };
  return (a.writes || b.writes) && a.bytes != 0 && b.bytes != 0 && from(a) < from(b) + b.bytes &&
         from(b) < from(a) + a.bytes;
}

bool is_default(const Stream& stream) {
  const auto context = stream.context();
  return context != nullptr && context->default_stream.get() == &stream;
}

const AtReset drop_captures([] {
  for (const auto& capture : active_captures()) capture->detach();
});

}  // namespace

Capture::Capture(const std::shared_ptr<Stream>& origin, Mode mode)
    : origin_(origin.get()),
      context_(origin->context()),
      mode_(mode),
      thread_(std::this_thread::get_id()),
      model_(std::make_shared<Model>(origin->context()->device)) {
  lanes_.push_back({origin, origin.get(), {0}});
}

Status Capture::begin(const std::shared_ptr<Stream>& origin, Mode mode) {
  if (origin->recorder() != nullptr) return check_not_captured(*origin);
  auto capture = std::make_shared<Capture>(origin, mode);
  if (fault_is_due(Setting::kFailCapture))
    return refuse(ACL_ERROR_RT_NO_STREAM_RESOURCE, "the capture fails, as the fault asks");
  if (!capture->model_->take_stream()) {
    return refuse(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                  "no stream is left for a captured model: the device has " +
                      std::to_string(profile()->streams));
  }
  {
    const std::lock_guard lock(active().mutex);
    if (origin->recorder() == nullptr) {
      origin->set_recorder(capture);
      const auto& implicit = origin->context()->default_stream;
      if (implicit->recorder() == nullptr) implicit->set_recorder(capture);
      active().captures.push_back(capture);
      return ACL_SUCCESS;
    }
  }
  return check_not_captured(*origin);  // another thread was faster
}

std::shared_ptr<Capture> Capture::of(Stream& stream) {
  auto capture = std::dynamic_pointer_cast<Capture>(stream.recorder());
  return capture != nullptr && capture->has(stream) ? capture : nullptr;
}

void Capture::invalidate() {
  const std::lock_guard lock(mutex_);
  valid_ = false;
}

bool Capture::is_valid() const {
  const std::lock_guard lock(mutex_);
  return valid_;
}

bool Capture::has(const Stream& stream) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [&](const Lane& lane) { return lane.key == &stream; });
}

Status Capture::refuse_and_invalidate(Status code, const std::string& reason) {
  valid_ = false;
  return refuse(code, reason);
}

Capture::Lane* Capture::lane_of(const Stream& stream) {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const Lane& lane) { return lane.key == &stream; });
  return found == lanes_.end() ? nullptr : &*found;
}

/// A stream joins by waiting for a record of the capture.
Status Capture::join(Stream& stream, const Task& task) {
  if (is_default(stream)) {
    return refuse_and_invalidate(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
                                 task.name + " on the default stream during a capture");
  }
  if (lane_of(stream) != nullptr) return ACL_SUCCESS;
  if (!model_->take_stream()) {
    return refuse_and_invalidate(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                                 "no stream is left for another stream of the capture");
  }
  for (Lane& lane : lanes_) lane.clock.push_back(0);
  for (auto& [event, clock] : records_) clock.push_back(0);
  lanes_.push_back({stream.weak_from_this(), &stream, Clock(lanes_.size() + 1, 0)});
  stream.set_recorder(shared_from_this());
  return ACL_SUCCESS;
}

/// Records and waits of events order the lanes. They are no tasks of the model unless the event
/// reaches beyond it.
Status Capture::follow(const Task& task, Lane& lane, bool* keeps) {
  *keeps = true;
  if (task.event == nullptr) return ACL_SUCCESS;
  const std::shared_ptr<Event>& event = task.event;
  *keeps = (event->flags & ACL_EVENT_EXTERNAL) != 0;
  if (event->mode != Event::Mode::kEx) {
    return refuse_and_invalidate(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                                 "a capture takes events of aclrtCreateEventExWithFlag only");
  }
  if (*keeps) return ACL_SUCCESS;
  const std::lock_guard lock(event->mutex);
  if (task.kind == Task::Kind::kRecord) {
    event->recorder = weak_from_this();
    records_[event] = lane.clock;
    return ACL_SUCCESS;
  }
  const auto recorder = event->recorder.lock();
  if (recorder == nullptr) {
    return refuse_and_invalidate(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                                 "a captured wait for a record outside of the capture");
  }
  if (recorder.get() != this) {
    return refuse_and_invalidate(ACL_ERROR_RT_STREAM_CAPTURE_CONFLICT,
                                 "a wait that would merge two captures");
  }
  const Clock& record = records_[event];
  for (std::size_t i = 0; i < record.size(); ++i)
    lane.clock[i] = std::max(lane.clock[i], record[i]);
  return ACL_SUCCESS;
}

/// Host ends of captured copies must be the library's own memory.
Status Capture::check_memory(const Task& task) {
  if (task.kind != Task::Kind::kCopy) return ACL_SUCCESS;
  for (const Extent& extent : task.extents) {
    if (extent.bytes == 0 || space().range_of(extent.address) != nullptr) continue;
    return refuse_and_invalidate(ACL_ERROR_RT_CAPTURE_BLOCK_ASYNC,
                                 task.name + " of pageable memory during a capture");
  }
  return ACL_SUCCESS;
}

/// Strict mode: a replay may run the lanes at once.
Status Capture::check_order(std::size_t lane, const TaskPointer& task) {
  if (!is_strict()) return ACL_SUCCESS;
  const Clock& clock = lanes_[lane].clock;
  for (const Use& use : uses_) {
    if (use.lane == lane || use.number <= clock[use.lane]) continue;
    for (const Extent& mine : task->extents) {
      for (const Extent& other : use.task->extents) {
        if (!overlaps(mine, other)) continue;
        ASCEND_TWIN_TRY(object(ACL_ERROR_RT_PARAM_INVALID,
                               task->name + " and " + use.task->name +
                                   " of two captured streams use the same bytes (" + mine.what +
                                   ", " + other.what + ") without an event between them"));
      }
    }
  }
  uses_.push_back({lane, clock[lane], task});
  return ACL_SUCCESS;
}

Status Capture::record(Stream& stream, TaskPointer task) {
  const std::lock_guard lock(mutex_);
  if (is_over_)
    return refuse(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "another thread ended the capture");
  ASCEND_TWIN_TRY(join(stream, *task));
  if (!valid_)
    return refuse(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture is invalid already");
  if (task->kind == Task::Kind::kReplay) {
    return refuse_and_invalidate(ACL_ERROR_RT_STREAM_CAPTURED,
                                 "a model cannot be executed in a capture");
  }
  if (fault_is_due(Setting::kFailCapture)) {
    return refuse_and_invalidate(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
                                 "the capture fails, as the fault asks");
  }
  const auto index = static_cast<std::size_t>(lane_of(stream) - lanes_.data());
  Lane& lane = lanes_[index];
  bool keeps = true;
  ASCEND_TWIN_TRY(follow(*task, lane, &keeps));
  if (task->kind != Task::Kind::kRecord) ++lane.clock[index];
  if (!keeps) return ACL_SUCCESS;
  if (const Status code = check_memory(*task); code != ACL_SUCCESS) return code;
  if (const Status code = check_order(index, task); code != ACL_SUCCESS) {
    valid_ = false;
    return code;
  }
  if (const auto group = open_groups_.find(&stream); group != open_groups_.end())
    group->second.push_back(tasks_.size());
  tasks_.push_back(std::move(task));
  return ACL_SUCCESS;
}

Status Capture::begin_group(Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (!open_groups_.try_emplace(&stream).second)
    return refuse_and_invalidate(ACL_ERROR_RT_TASK_GROUP_STATUS, "a task group within another");
  return ACL_SUCCESS;
}

Status Capture::end_group(Stream& stream, std::shared_ptr<TaskGroup>* group) {
  const std::lock_guard lock(mutex_);
  const auto found = open_groups_.find(&stream);
  if (found == open_groups_.end())
    return refuse_and_invalidate(ACL_ERROR_RT_TASK_GROUP_STATUS, "no task group was begun");
  *group = std::make_shared<TaskGroup>(TaskGroup{model_, std::move(found->second)});
  open_groups_.erase(found);
  model_->groups.push_back(*group);
  return ACL_SUCCESS;
}

void Capture::detach() {
  const auto self = shared_from_this();          // the streams' references may be the last
  std::vector<std::shared_ptr<Capture>> others;  // their last references go without the locks
  const std::lock_guard lock(mutex_);
  const std::lock_guard of_active(active().mutex);
  is_over_ = true;
  std::erase_if(active().captures, [&](const auto& weak) {
    auto live = weak.lock();
    if (live == nullptr || live.get() == this) return true;
    others.push_back(std::move(live));
    return false;
  });
  for (const Lane& lane : lanes_) {
    if (const auto stream = lane.stream.lock()) stream->set_recorder(nullptr);
  }
  for (const auto& [event, clock] : records_) {
    const std::lock_guard of_event(event->mutex);
    if (event->recorder.lock().get() == this) event->recorder.reset();
  }
  const auto context = context_.lock();
  if (context == nullptr || context->default_stream->recorder().get() != this) return;
  std::shared_ptr<Recorder> next;
  for (const auto& capture : others) {
    if (capture->context_.lock() == context) next = capture;
  }
  context->default_stream->set_recorder(next);
}

Status Capture::end(std::shared_ptr<Model>* model) {
  const auto self = shared_from_this();
  detach();
  const std::lock_guard lock(mutex_);
  if (!valid_) {
    return refuse(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
                  "the capture was invalidated by a call that it forbids");
  }
  if (!open_groups_.empty())
    return refuse(ACL_ERROR_RT_TASK_GROUP_STATUS, "a task group was not ended");
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    if (lanes_[0].clock[i] >= lanes_[i].clock[i]) continue;
    return refuse(ACL_ERROR_RT_STREAM_UNJOINED,
                  "the capture's first stream does not wait for one that joined it");
  }
  if (fault_is_due(Setting::kFailCapture))
    return refuse(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "the capture fails, as the fault asks");
  const std::lock_guard of_model(model_->mutex);
  model_->tasks = std::make_shared<const Model::Tasks>(std::move(tasks_));
  model_->remember_allocations();
  *model = model_;
  return ACL_SUCCESS;
}

Status check_no_global_capture() {
  constexpr auto kRelaxed = static_cast<std::int32_t>(Capture::Mode::kRelaxed);
  const std::int32_t mode = this_thread().capture_mode;
  if (mode == kRelaxed) return ACL_SUCCESS;
  Status code = ACL_SUCCESS;
  for (const auto& capture : active_captures()) {
    const bool of_others = capture->mode() == Capture::Mode::kGlobal && mode == 0;
    const bool of_this = capture->mode() != Capture::Mode::kRelaxed &&
                         capture->thread() == std::this_thread::get_id();
    if (!of_others && !of_this) continue;
    capture->invalidate();
    code = refuse(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "a capture forbids this call");
  }
  return code;
}

Status check_not_captured(Stream& stream) {
  const std::shared_ptr<Recorder> recorder = stream.recorder();
  if (recorder == nullptr) return ACL_SUCCESS;
  recorder->invalidate();
  return refuse(ACL_ERROR_RT_STREAM_CAPTURED, "the stream is being captured");
}

}  // namespace ascend_twin
