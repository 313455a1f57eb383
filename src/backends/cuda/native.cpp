#include "backends/cuda/native.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>

#include "backends/cuda/kernels/begin_run.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/pause.h"
#include "shunt/message.h"

namespace shunt::cuda {

/// An event of the driver.
class CudaEvent final : public NativeEvent {
 public:
  CudaEvent(std::shared_ptr<Context> context, EventHandle handle, std::shared_ptr<EventClock> clock)
      : context_(std::move(context)), handle_(handle), clock_(std::move(clock)) {}
  ~CudaEvent() override { context_->release<&Symbols::event_destroy>(handle_); }
  EventHandle handle() const { return handle_; }
  const Context& context() const { return *context_; }

  Result<bool> wait(std::chrono::milliseconds most) override {
    const auto end = std::chrono::steady_clock::now() + most;
    for (int i = 0;; ++i) {
      SHUNT_ASSIGN(const Status32 status, context_->query<&Symbols::event_query>(handle_));
      if (status == kSuccess) return true;
      if (status != kNotReady)
        return context_->driver().error(status, name_of<&Symbols::event_query>());
      if (std::chrono::steady_clock::now() >= end) return false;
      pause(i);
    }
  }

  std::optional<Time> time() const override { return clock_->time(handle_); }
  std::optional<double> seconds_since(const NativeEvent& begin) const override {
    return clock_->between(static_cast<const CudaEvent&>(begin).handle(), handle_);
  }

 private:
  std::shared_ptr<Context> context_;
  EventHandle handle_;
  std::shared_ptr<EventClock> clock_;
};

namespace {

/// The driver's queue of work is limited, and a call for a full one blocks. So only this many
/// launches, copies, records and waits, and as many again, are in it.
constexpr std::uint64_t kWorkAhead = 256;
constexpr unsigned kWarp = 32;
static_assert(gpu::kRunsAhead == 2 * kWorkAhead);  // each run is a launch at least

/// A stream's own memory on the device.
struct StreamMemory {
  std::uint32_t stop;       ///< Run::stop
  std::uint32_t next;       ///< BeginRunArgs::next
  gpu::FaultRecord record;  ///< where the driver refuses pinned memory
};

/// The same in pinned memory.
struct PinnedStreamMemory {
  gpu::FaultRecord record;
  gpu::RunSizes ring[gpu::kRunsAhead];
};

/// Whether the driver copies such rows at once: pitches are limited, and unused for one row.
bool is_copy_2d(const CopyShape& shape) {
  constexpr std::size_t kMostPitch = (std::size_t{1} << 31) - 1;
  return shape.rows > 1 && shape.from_pitch <= kMostPitch && shape.to_pitch <= kMostPitch;
}

Copy2d shape_of(const CopyShape& shape) {
  Copy2d copy;
  copy.bytes = shape.bytes;
  copy.rows = shape.rows;
  copy.from_pitch = shape.from_pitch;
  copy.to_pitch = shape.to_pitch;
  return copy;
}

}  // namespace

CudaStream::CudaStream(std::shared_ptr<Context> context, std::shared_ptr<EventClock> clock,
                       FunctionHandle begin_run)
    : context_(std::move(context)), clock_(std::move(clock)), begin_run_(begin_run) {}

Result<std::unique_ptr<CudaStream>> CudaStream::create(const std::shared_ptr<Context>& context,
                                                       std::shared_ptr<EventClock> clock,
                                                       FunctionHandle begin_run,
                                                       PinnedMemory& staging) {
  std::unique_ptr<CudaStream> made(new CudaStream(context, std::move(clock), begin_run));
  SHUNT_TRY(context->call<&Symbols::stream_create>(&made->stream_, kStreamNonBlocking));
  context->add_stream(made->stream_);
  for (EventHandle& mark : made->marks_) {
    SHUNT_TRY(
        context->call<&Symbols::event_create>(&mark, kEventBlockingSync | kEventDisableTiming));
  }
  SHUNT_TRY(context->call_idle<&Symbols::mem_alloc>(&made->memory_, sizeof(StreamMemory)));
  SHUNT_TRY(context->fill(made->memory_, sizeof(StreamMemory), 0));
  auto pinned = allocate_pinned(context, sizeof(PinnedStreamMemory));
  if (!pinned) {
    SHUNT_TRY(staging.count_refusal(pinned.error()));
    return made;
  }
  made->pinned_ = std::move(*pinned);
  std::memset(made->pinned_.get(), 0, sizeof(PinnedStreamMemory));
  return made;
}

CudaStream::~CudaStream() {
  if (memory_ != 0) context_->release_idle<&Symbols::mem_free>(memory_);
  for (EventHandle mark : marks_) {
    if (mark != nullptr) context_->release<&Symbols::event_destroy>(mark);
  }
  if (stream_ == nullptr) return;
  context_->remove_stream(stream_);
  context_->release<&Symbols::stream_destroy>(stream_);
}

Result<std::unique_ptr<NativeEvent>> CudaStream::create_event(bool timed) {
  EventHandle handle = nullptr;
  SHUNT_TRY(context_->call<&Symbols::event_create>(
      &handle, kEventBlockingSync | (timed ? 0U : kEventDisableTiming)));
  return std::make_unique<CudaEvent>(context_, handle, clock_);
}

template <auto Member, class... Arguments>
Status CudaStream::submit(const std::atomic<bool>* cancel, Arguments... arguments) {
  SHUNT_TRY(context_->submit<Member>(arguments...));
  return limit_queue(cancel);
}

Status CudaStream::launch(FunctionHandle function, unsigned blocks, unsigned threads,
                          void* parameters, const std::atomic<bool>* cancel) {
  return submit<&Symbols::launch_kernel>(cancel, function, blocks, 1U, 1U, threads, 1U, 1U, 0U,
                                         stream_, &parameters, static_cast<void**>(nullptr));
}

Status CudaStream::run(std::uint64_t task, Binding& any, const RunArgs& args) {
  auto& binding = static_cast<CudaBinding&>(any);
  {
    const std::lock_guard lock(mutex_);
    runs_[task % runs_.size()] = {task, binding.names};
  }
  SHUNT_TRY(begin_run(task, binding.run, args));
  for (Launch& each : binding.launches) {
    if (args.cancel != nullptr && args.cancel->load(std::memory_order_relaxed))
      return fail(ErrorCode::kCancelled, "cancelled");
    SHUNT_TRY(
        launch(each.function, each.blocks, each.threads, each.parameters.data(), args.cancel));
  }
  return ok();
}

/// The launch that comes before those of a segment. Its parameters are the same each time where the
/// stream has pinned memory: the sizes are in a ring there.
Status CudaStream::begin_run(std::uint64_t task, DevicePointer run, const RunArgs& args) {
  static_assert(gpu::kDynamicDims == kMaxDynamicDims);
  gpu::RunSizes sizes = {};
  for (std::size_t i = 0; i < args.dynamic_dims.size(); ++i) sizes.dims[i] = args.dynamic_dims[i];
  sizes.task = task;
  gpu::BeginRunArgs begin = {};
  begin.run.address = run;
  begin.stop.address = memory_ + offsetof(StreamMemory, stop);
  begin.next.address = memory_ + offsetof(StreamMemory, next);
  if (pinned_) {
    auto& pinned = *reinterpret_cast<PinnedStreamMemory*>(pinned_.get());
    begin.record.address = std::bit_cast<DevicePointer>(&pinned.record);
    begin.ring.address = std::bit_cast<DevicePointer>(&pinned.ring);
    pinned.ring[next_ % gpu::kRunsAhead] = sizes;
  } else {
    begin.record.address = memory_ + offsetof(StreamMemory, record);
    begin.sizes = sizes;
  }
  is_counted_ = false;  // after an error it is not known whether the kernel counts
  SHUNT_TRY(launch(begin_run_, 1, kWarp, &begin, args.cancel));
  is_counted_ = true;
  ++next_;
  return ok();
}

Status CudaStream::limit_queue(const std::atomic<bool>* cancel) {
  if (++submitted_ % kWorkAhead != 0) return ok();
  std::swap(marks_[0], marks_[1]);
  SHUNT_TRY(context_->submit<&Symbols::event_record>(marks_[1], stream_));
  if (submitted_ == kWorkAhead) return ok();  // the other one marks nothing yet
  return wait_to_submit<&Symbols::event_query>(cancel, marks_[0]);
}

template <auto Query, class Object>
Status CudaStream::wait_to_submit(const std::atomic<bool>* cancel, Object object) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kSlice{20};
  const auto end = Clock::now() + context_->health()->timeout();
  auto next_check = Clock::now() + kSlice;
  for (int i = 0;; ++i) {
    SHUNT_ASSIGN(const Status32 status, context_->query<Query>(object));
    if (status != kNotReady) return ok();  // an error shows with the event of the work
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed))
      return fail(ErrorCode::kCancelled, "cancelled");
    const auto now = Clock::now();
    if (now >= end) return timed_out();
    if (now >= next_check) {
      SHUNT_TRY(check_devices());
      next_check = now + kSlice;
    }
    pause(i);
  }
}

Status CudaStream::write(std::uint64_t, Address to, std::span<const std::byte> from) {
  if (from.empty()) return ok();
  SHUNT_TRY(wait_for_pageable(from.data()));
  return submit<&Symbols::memcpy_to_device>(
      nullptr, device_address(to), static_cast<const void*>(from.data()), from.size(), stream_);
}

Status CudaStream::read(std::uint64_t, std::span<std::byte> to, Address from) {
  if (to.empty()) return ok();
  SHUNT_TRY(wait_for_pageable(to.data()));
  return submit<&Symbols::memcpy_to_host>(nullptr, static_cast<void*>(to.data()),
                                          device_address(from), to.size(), stream_);
}

/// A copy from or to memory that is not pinned may block until the stream gets to it, which may be
/// never.
Status CudaStream::wait_for_pageable(const std::byte* host) const {
  unsigned kind = 0;
  SHUNT_ASSIGN(const Status32 known,
               context_->query<&Symbols::pointer_get_attribute>(
                   static_cast<void*>(&kind), kMemoryType, std::bit_cast<DevicePointer>(host)));
  if (known == kSuccess) return ok();
  return wait_to_submit<&Symbols::stream_query>(nullptr, stream_);
}

Status CudaStream::copy(std::uint64_t, Address to, Address from, std::size_t bytes) {
  if (bytes == 0) return ok();
  // The error may be that of the other device.
  SHUNT_ASSIGN(const Status32 status,
               context_->try_submit<&Symbols::memcpy_on_device>(
                   device_address(to), device_address(from), bytes, stream_));
  SHUNT_TRY(context_->driver().check(status, name_of<&Symbols::memcpy_on_device>()));
  return limit_queue(nullptr);
}

Status CudaStream::write_2d(std::uint64_t task, Address to, const std::byte* from,
                            const CopyShape& shape) {
  if (shape.rows == 0 || shape.bytes == 0) return ok();
  if (!is_copy_2d(shape)) return NativeStream::write_2d(task, to, from, shape);
  SHUNT_TRY(wait_for_pageable(from));
  Copy2d copy = shape_of(shape);
  copy.from_kind = kHostKind;
  copy.from_host = from;
  copy.to_kind = kDeviceKind;
  copy.to_device = device_address(to);
  return submit<&Symbols::memcpy_2d>(nullptr, static_cast<const Copy2d*>(&copy), stream_);
}

Status CudaStream::read_2d(std::uint64_t task, std::byte* to, Address from,
                           const CopyShape& shape) {
  if (shape.rows == 0 || shape.bytes == 0) return ok();
  if (!is_copy_2d(shape)) return NativeStream::read_2d(task, to, from, shape);
  SHUNT_TRY(wait_for_pageable(to));
  Copy2d copy = shape_of(shape);
  copy.from_kind = kDeviceKind;
  copy.from_device = device_address(from);
  copy.to_kind = kHostKind;
  copy.to_host = to;
  return submit<&Symbols::memcpy_2d>(nullptr, static_cast<const Copy2d*>(&copy), stream_);
}

Status CudaStream::record(NativeEvent& event) {
  return submit<&Symbols::event_record>(nullptr, static_cast<CudaEvent&>(event).handle(), stream_);
}

Result<bool> CudaStream::wait_for(NativeEvent& event) {
  const auto* const own = dynamic_cast<const CudaEvent*>(&event);
  if (own == nullptr || &own->context().driver() != &context_->driver()) return false;
  // The error may be that of the event's device: then the host waits, and finds out.
  SHUNT_ASSIGN(const Status32 status,
               context_->try_submit<&Symbols::stream_wait_event>(stream_, own->handle(), 0U));
  if (status != kSuccess) return false;
  SHUNT_TRY(limit_queue(nullptr));
  return true;
}

std::optional<NativeFailure> CudaStream::failure() {
  const auto status = context_->peek<&Symbols::stream_query>(stream_);
  if (!status) return NativeFailure{.error = status.error(), .lost = true};
  if (*status != kSuccess && *status != kNotReady) {
    return NativeFailure{
        .error = context_->driver().error(*status, name_of<&Symbols::stream_query>()),
        .lost = ends_context(*status),
        .hung = ends_device(*status)};
  }
  const std::lock_guard lock(mutex_);
  const auto found = read_record();
  if (!found) return NativeFailure{.error = found.error(), .lost = true};
  if (found->code == gpu::kNoFault) return std::nullopt;
  const std::uint64_t task = found->task;
  const std::int64_t value = found->value, bound = found->bound;
  Error error = found->code == gpu::kTooSmall
                    ? invalid("a number is too small: {} is not at least {}", value, bound)
                    : invalid("an index is out of range: {} is not from 0 to {}", value, bound - 1);
  const RunNames& run = runs_[task % runs_.size()];
  if (run.task == task && run.names) {
    const NodeNames& names = *run.names;
    const auto name = std::ranges::find(names, NodeId{found->node}, &NodeNames::value_type::first);
    if (name != names.end())
      error = std::move(error).with_node(name->second).with_context(name->second);
  }
  return NativeFailure{.error = std::move(error), .task = task};
}

bool CudaStream::is_busy() {
  const auto status = context_->peek<&Symbols::stream_query>(stream_);
  if (!status || *status == kSuccess) return false;
  return !ends_context(*status) || ends_device(*status);  // of unknown errors nothing is known
}

Result<gpu::FaultRecord> CudaStream::read_record() const {
  gpu::FaultRecord record = {};
  if (!pinned_) {
    // Twice: the kernel may have been at it. It writes the code last.
    for (int time = 0; time < 2; ++time) {
      SHUNT_TRY(context_->read(&record, memory_ + offsetof(StreamMemory, record), sizeof record));
      if (record.code == gpu::kNoFault) break;
    }
    return record;
  }
  // The kernel writes the code last.
  auto* const shared = reinterpret_cast<gpu::FaultRecord*>(pinned_.get());
  record.code = std::atomic_ref(shared->code).load(std::memory_order_acquire);
  if (record.code != gpu::kNoFault) std::memcpy(&record, pinned_.get(), sizeof record);
  return record;
}

Status CudaStream::recover() {
  SHUNT_TRY(context_->wait_until_idle(stream_));
  const std::lock_guard lock(mutex_);
  SHUNT_ASSIGN(const gpu::FaultRecord record, read_record());
  if (record.code == gpu::kNoFault && is_counted_) return ok();
  if (pinned_) std::memset(pinned_.get(), 0, sizeof record);
  next_ = 0;
  is_counted_ = true;
  return context_->fill(memory_, sizeof(StreamMemory), 0);
}

std::string CudaStream::nodes_of(const Binding& any) const {
  const auto& names = *static_cast<const CudaBinding&>(any).names;
  if (names.empty()) return {};
  const std::string& first = names.front().second;
  return names.size() == 1 ? first : first + " to " + names.back().second;
}

}  // namespace shunt::cuda
