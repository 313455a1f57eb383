#include "backends/cann/native.h"

#include <algorithm>

#include "backend_support/packed_memory.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

using Clock = std::chrono::steady_clock;

/// Keys of runs that are remembered to see whether they come again.
constexpr std::size_t kMostSeen = 1024;
/// How long a wait of a submission lasts before it checks whether a device is lost.
constexpr std::chrono::milliseconds kSlice{20};
/// Products of more columns are of a prompt: its launches cost little beside its work.
constexpr std::int64_t kMostStepColumns = 64;

std::int32_t milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(left, 1, 1 << 30));
}

/// An event of the library. It knows the stream that recorded it last.
class CannEvent final : public NativeEvent {
 public:
  /// `clock`: of a timed event, else null.
  CannEvent(std::shared_ptr<const DeviceContext> context, EventHandle handle,
            std::shared_ptr<EventClock> clock)
      : context_(std::move(context)), handle_(handle), clock_(std::move(clock)) {}
  ~CannEvent() override { context_->release<&Symbols::destroy_event>(handle_); }
  EventHandle handle() const { return handle_; }
  const DeviceContext& context() const { return *context_; }
  void set_stream(std::shared_ptr<StreamState> stream) {
    const std::lock_guard lock(mutex_);
    stream_ = std::move(stream);
  }
  std::shared_ptr<StreamState> stream() const {
    const std::lock_guard lock(mutex_);
    return stream_;
  }

  Result<bool> wait(std::chrono::milliseconds most) override {
    SHUNT_TRY(context_->health()->check());
    const auto end = Clock::now() + most;
    const DeviceContext::Current current(*context_);
    const Status32 status = context_->symbols().synchronize_event(handle_, milliseconds_until(end));
    if (status == kEventSyncTimeout) return false;
    SHUNT_TRY(context_->check(status, name_of<&Symbols::synchronize_event>()));
    const auto recorded_by = stream();
    if (recorded_by == nullptr) return true;
    return recorded_by->collect(std::chrono::milliseconds(milliseconds_until(end)));
  }
  std::optional<Time> time() const override {
    return clock_ == nullptr ? std::nullopt : clock_->time(handle_);
  }
  std::optional<double> seconds_since(const NativeEvent& begin) const override {
    if (clock_ == nullptr) return std::nullopt;
    return clock_->between(static_cast<const CannEvent&>(begin).handle(), handle_);
  }

 private:
  std::shared_ptr<const DeviceContext> context_;
  EventHandle handle_;
  std::shared_ptr<EventClock> clock_;
  mutable std::mutex mutex_;
  std::shared_ptr<StreamState> stream_;
};

/// An object that work of a stream uses: destroyed once the stream is idle.
template <class T>
class InUse {
 public:
  InUse(std::shared_ptr<StreamState> state, std::unique_ptr<T> object)
      : state_(std::move(state)), object_(std::move(object)) {}
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  ~InUse() {
    const DeviceHealth& health = *state_->context().health();
    if (!health.is_lost()) (void)state_->collect(health.timeout());
  }
  T* object() const { return object_.get(); }

 private:
  std::shared_ptr<StreamState> state_;
  std::unique_ptr<T> object_;
};

template <class T>
std::shared_ptr<T> keep_until_idle(std::shared_ptr<StreamState> state, std::unique_ptr<T> object) {
  auto in_use = std::make_shared<InUse<T>>(std::move(state), std::move(object));
  return {in_use, in_use->object()};
}

}  // namespace

// ---- StreamState

Status StreamState::open() {
  return context_->call<&Symbols::create_stream>(&handle_);
}

StreamState::~StreamState() {
  if (handle_ != nullptr) context_->release<&Symbols::destroy_stream>(handle_);
}

void StreamState::add_awaited(const std::shared_ptr<StreamState>& other) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(awaited_, other) == awaited_.end()) awaited_.push_back(other);
}

void StreamState::add_faults(const std::shared_ptr<FaultCounters>& faults) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(faults_, faults) == faults_.end()) faults_.push_back(faults);
}

void StreamState::forget_awaited() {
  const std::lock_guard lock(mutex_);
  awaited_.clear();
}

void StreamState::run_failed() {
  const std::lock_guard lock(mutex_);
  run_failed_ = true;
}

std::vector<std::shared_ptr<StreamState>> StreamState::awaited() {
  const std::lock_guard lock(mutex_);
  return awaited_;
}

Result<bool> StreamState::collect_own(std::chrono::milliseconds most) {
  const std::lock_guard one(collecting_);
  const std::uint64_t submitted = submitted_;
  {
    const std::lock_guard lock(mutex_);
    if (collected_ == submitted) return true;
  }
  const DeviceContext::Current current(*context_);
  const Status32 status = context_->symbols().synchronize_stream(
      handle_, static_cast<std::int32_t>(std::min<std::int64_t>(most.count(), 1 << 30)));
  if (status == kStreamSyncTimeout) return false;
  const std::lock_guard lock(mutex_);
  collected_ = submitted;
  const bool is_lost = ends_device(status);
  if (failure_ && !is_lost) return true;
  if (const Status checked = context_->check(status, name_of<&Symbols::synchronize_stream>());
      !checked) {
    failure_ = NativeFailure{.error = checked.error(), .lost = is_lost};
    return true;
  }
  for (const auto& faults : faults_) {
    if (auto found = faults->found()) {
      failure_ = NativeFailure{.error = std::move(*found)};
      break;
    }
  }
  return true;
}

Result<bool> StreamState::collect(std::chrono::milliseconds most) {
  const auto end = Clock::now() + most;
  std::vector<StreamState*> known = {this};
  std::vector<std::shared_ptr<StreamState>> kept;
  for (std::size_t i = 0; i < known.size(); ++i) {
    SHUNT_ASSIGN(const bool done,
                 known[i]->collect_own(std::chrono::milliseconds(milliseconds_until(end))));
    if (!done) return false;
    for (auto& other : known[i]->awaited()) {
      if (std::ranges::find(known, other.get()) != known.end()) continue;
      known.push_back(other.get());
      kept.push_back(std::move(other));
    }
  }
  return true;
}

std::optional<NativeFailure> StreamState::failure() {
  if (const Status lost = context_->health()->check(); !lost)
    return NativeFailure{.error = lost.error(), .lost = true};
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return failure_;
    if (collected_ == submitted_) return std::nullopt;
  }
  if (is_idle()) (void)collect_own(std::chrono::milliseconds(1));
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool StreamState::is_idle() const {
  const DeviceContext::Current current(*context_);
  StreamStatus status = kStreamComplete;
  return context_->symbols().query_stream(handle_, &status) != kSuccess ||
         status == kStreamComplete;
}

Status StreamState::recover() {
  SHUNT_ASSIGN(const bool done, collect_own(context_->health()->timeout()));
  if (!done) return fail(ErrorCode::kDevice, "the stream has work that does not end");
  const std::lock_guard lock(mutex_);
  Status reset = ok();
  if (failure_ && failure_->lost) return failure_->error;
  if (failure_ || run_failed_) {
    for (const auto& faults : faults_) {
      if (const Status each = faults->reset(); !each) reset = each;
    }
  }
  failure_.reset();
  run_failed_ = false;
  faults_.clear();
  awaited_.clear();
  return reset;
}

// ---- CannStream

CannStream::CannStream(std::shared_ptr<const DeviceContext> context,
                       std::shared_ptr<EventClock> clock, const CannOptions& options)
    : context_(std::move(context)),
      clock_(std::move(clock)),
      state_(std::make_shared<StreamState>(context_)),
      captures_(options.graph && context_->runtime().chip().graphs &&
                context_->runtime().has(kGraphsFeature)),
      captures_prompts_(options.prefill_graph),
      most_graphs_(options.graphs),
      graphs_(options.graphs),
      recordings_(options.graphs),
      most_executors_(options.executors) {}

CannStream::~CannStream() {
  if (!extras_.empty() || reserve_ != nullptr) {
    const auto done = state_->collect(context_->health()->timeout());
    if (done && !*done) context_->health()->lose_hung();
  }
  state_->forget_awaited();
}

Result<std::unique_ptr<CannStream>> CannStream::create(std::shared_ptr<const DeviceContext> context,
                                                       std::shared_ptr<EventClock> clock,
                                                       const CannOptions& options) {
  std::unique_ptr<CannStream> made(new CannStream(std::move(context), std::move(clock), options));
  SHUNT_TRY(made->state_->open());
  return made;
}

template <auto Member, class... Arguments>
Status CannStream::submit(Arguments... arguments) {
  state_->touch();
  return context_->call<Member>(arguments...);
}

Result<std::unique_ptr<NativeEvent>> CannStream::create_event(bool timed) {
  EventHandle handle = nullptr;
  const bool has_time = timed && clock_ != nullptr;
  const std::uint32_t flags = kEventSync | (has_time ? kEventTimeLine : 0U);
  SHUNT_TRY(context_->call<&Symbols::create_event>(&handle, flags));
  auto event = std::make_unique<CannEvent>(context_, handle, has_time ? clock_ : nullptr);
  // The first record takes the event's resource from the device.
  SHUNT_TRY(submit<&Symbols::record_event>(handle, state_->handle()));
  return event;
}

Status CannStream::run(std::uint64_t, Binding& any, const RunArgs& args) {
  auto& binding = static_cast<CannBinding&>(any);
  SHUNT_TRY(context_->health()->check());
  const DeviceContext::Current current(*context_);
  if (!extras_.empty()) {
    SHUNT_TRY(wait_until_idle());
    extras_.clear();
  }
  state_->touch();
  if (binding.faults != nullptr) state_->add_faults(binding.faults);
  if (!captures_prompts_ && binding.columns(args.dynamic_dims) > kMostStepColumns)
    return call(binding, args);
  const GraphKey key = {binding.number(), args.dynamic_dims};
  const auto seen = std::ranges::find(seen_, key);
  if (seen != seen_.end()) {
    // More segments of a step than graphs: keeping the last ones would drop those that come next.
    const auto before = std::count_if(seen_.begin(), seen, [&](const GraphKey& each) {
      return each.dynamic_dims == key.dynamic_dims;
    });
    if (static_cast<std::size_t>(before) >= most_graphs_) return call(binding, args);
    return captures_ ? run_captured(binding, args, key) : run_again(binding, args, key);
  }
  if (seen_.size() == kMostSeen) seen_.erase(seen_.begin());
  seen_.push_back(key);
  return call(binding, args);
}

Status CannStream::wait_until_idle() const {
  const auto end = Clock::now() + context_->health()->timeout();
  for (;;) {
    SHUNT_ASSIGN(const bool done, state_->collect(kSlice));
    SHUNT_TRY(check_devices());
    if (done) return ok();
    if (Clock::now() >= end) return timed_out();
  }
}

Status CannStream::call(CannBinding& binding, const RunArgs& args, Recording* recording) {
  Status called = binding.call(*context_, state_->handle(), args, *this, recording);
  if (!called) state_->run_failed();
  return called;
}

Status CannStream::run_again(CannBinding& binding, const RunArgs& args, const GraphKey& key) {
  if (std::ranges::find(unrepeatable_, key.binding) != unrepeatable_.end())
    return call(binding, args);
  bool has_run = false;
  Status status = ok();
  const auto recording = recordings_.find(key, [&]() -> Result<std::shared_ptr<Recording>> {
    auto made = keep_until_idle(state_, std::make_unique<Recording>(context_));
    has_run = true;
    status = call(binding, args, made.get());
    SHUNT_TRY(status);
    if (made->is_complete() && made->size() <= most_executors_) return made;
    return fail(ErrorCode::kUnsupported, "a call can't be repeated");
  });
  if (has_run) {
    if (!recording && status) unrepeatable_.push_back(key.binding);
    return status;
  }
  if (args.cancel != nullptr && args.cancel->load(std::memory_order_relaxed))
    return fail(ErrorCode::kCancelled, "cancelled");
  Status repeated = binding.repeat(*context_, state_->handle(), **recording.value());
  if (!repeated) state_->run_failed();
  return repeated;
}

Status CannStream::run_captured(CannBinding& binding, const RunArgs& args, const GraphKey& key) {
  if (args.cancel != nullptr && args.cancel->load(std::memory_order_relaxed))
    return fail(ErrorCode::kCancelled, "cancelled");
  if (std::ranges::find(unrepeatable_, key.binding) != unrepeatable_.end())
    return call(binding, args);
  auto model = graphs_.find(key, [&] { return capture(binding, args); });
  // Captured models take streams of the device: with fewer of them there may be room.
  while (!model && model.error().code() == ErrorCode::kOutOfMemory && graphs_.drop_oldest())
    model = graphs_.find(key, [&] { return capture(binding, args); });
  if (!model) {
    // A failed capture costs only speed.
    SHUNT_TRY(context_->health()->check());
    unrepeatable_.push_back(key.binding);
    return call(binding, args);
  }
  Status executed = context_->check(
      context_->symbols().execute_model((*model)->get()->handle(), state_->handle()),
      name_of<&Symbols::execute_model>());
  if (executed || executed.error().code() != ErrorCode::kOutOfMemory) return executed;
  unrepeatable_.push_back(key.binding);
  return call(binding, args);
}

Result<std::shared_ptr<CapturedModel>> CannStream::capture(CannBinding& binding,
                                                           const RunArgs& args) {
  const Symbols& symbols = context_->symbols();
  SHUNT_TRY(context_->check(symbols.capture_begin(state_->handle(), kCaptureRelaxed),
                            name_of<&Symbols::capture_begin>()));
  is_capturing_ = true;
  const RunArgs without_cancel = {.dynamic_dims = args.dynamic_dims};
  const Status called = binding.call(*context_, state_->handle(), without_cancel, *this);
  is_capturing_ = false;
  ModelHandle handle = nullptr;
  const Status ended = context_->check(symbols.capture_end(state_->handle(), &handle),
                                       name_of<&Symbols::capture_end>());
  std::shared_ptr<CapturedModel> model;
  if (handle != nullptr)
    model = keep_until_idle(state_, std::make_unique<CapturedModel>(context_, handle));
  SHUNT_TRY(called);
  SHUNT_TRY(ended);
  if (model == nullptr)
    return fail(ErrorCode::kDevice, "{} gave no model", name_of<&Symbols::capture_end>());
  return model;
}

Result<DevicePointer> CannStream::at_least(std::size_t bytes) {
  // A captured run keeps addresses, and the reserve moves when it grows.
  if (is_capturing_)
    return fail(ErrorCode::kUnsupported, "a captured call needs {} bytes of workspace", bytes);
  if (reserve_ != nullptr && bytes <= reserve_->bytes()) return reserve_->address();
  SHUNT_TRY(wait_until_idle());  // calls before may still use the old one
  reserve_.reset();
  SHUNT_ASSIGN(reserve_, Allocation::create(context_, padded(bytes)));
  return reserve_->address();
}

Result<DevicePointer> CannStream::until_end(std::size_t bytes) {
  if (is_capturing_)
    return fail(ErrorCode::kUnsupported, "a captured call needs {} bytes more", bytes);
  SHUNT_ASSIGN(auto extra, Allocation::create(context_, padded(bytes)));
  return extras_.emplace_back(std::move(extra))->address();
}

Status CannStream::write(std::uint64_t, Address to, std::span<const std::byte> from) {
  if (from.empty()) return ok();
  if (packed_bytes_of(*to.buffer) != nullptr) {
    SHUNT_TRY(wait_until_idle());
    return to.buffer->write(to.offset, from);
  }
  return submit<&Symbols::memcpy_async>(static_cast<void*>(device_address(to)), from.size(),
                                        static_cast<const void*>(from.data()), from.size(),
                                        CopyKind::kToDevice, state_->handle());
}

Status CannStream::read(std::uint64_t, std::span<std::byte> to, Address from) {
  if (to.empty()) return ok();
  if (packed_bytes_of(*from.buffer) != nullptr) {
    SHUNT_TRY(wait_until_idle());
    return from.buffer->read(from.offset, to);
  }
  return submit<&Symbols::memcpy_async>(static_cast<void*>(to.data()), to.size(),
                                        static_cast<const void*>(device_address(from)), to.size(),
                                        CopyKind::kToHost, state_->handle());
}

Status CannStream::copy(std::uint64_t, Address to, Address from, std::size_t bytes) {
  if (bytes == 0) return ok();
  if (packed_bytes_of(*to.buffer) != nullptr) {
    SHUNT_TRY(wait_until_idle());
    return shunt::copy(to, from, bytes);
  }
  return submit<&Symbols::memcpy_async>(static_cast<void*>(device_address(to)), bytes,
                                        static_cast<const void*>(device_address(from)), bytes,
                                        CopyKind::kOnDevice, state_->handle());
}

bool CannStream::copies_rows(const CopyShape& shape) const {
  constexpr std::size_t kMostWidth = 5000000, kMostRows = std::size_t{5} << 20;
  return shape.rows > 1 && shape.rows <= kMostRows && shape.bytes <= kMostWidth &&
         context_->symbols().memcpy_2d_async != nullptr && !context_->runtime().shares_memory();
}

Status CannStream::write_2d(std::uint64_t task, Address to, const std::byte* from,
                            const CopyShape& shape) {
  if (shape.rows == 0 || shape.bytes == 0) return ok();
  if (!copies_rows(shape) || packed_bytes_of(*to.buffer) != nullptr)
    return NativeStream::write_2d(task, to, from, shape);
  return submit<&Symbols::memcpy_2d_async>(
      static_cast<void*>(device_address(to)), shape.to_pitch, static_cast<const void*>(from),
      shape.from_pitch, shape.bytes, shape.rows, CopyKind::kToDevice, state_->handle());
}

Status CannStream::read_2d(std::uint64_t task, std::byte* to, Address from,
                           const CopyShape& shape) {
  if (shape.rows == 0 || shape.bytes == 0) return ok();
  if (!copies_rows(shape) || packed_bytes_of(*from.buffer) != nullptr)
    return NativeStream::read_2d(task, to, from, shape);
  return submit<&Symbols::memcpy_2d_async>(
      static_cast<void*>(to), shape.to_pitch, static_cast<const void*>(device_address(from)),
      shape.from_pitch, shape.bytes, shape.rows, CopyKind::kToHost, state_->handle());
}

Status CannStream::record(NativeEvent& event) {
  auto& own = static_cast<CannEvent&>(event);
  own.set_stream(state_);
  return submit<&Symbols::record_event>(own.handle(), state_->handle());
}

Result<bool> CannStream::wait_for(NativeEvent& event) {
  const auto* const own = dynamic_cast<const CannEvent*>(&event);
  if (own == nullptr || &own->context().runtime() != &context_->runtime()) return false;
  SHUNT_TRY(context_->health()->check());
  state_->touch();
  const DeviceContext::Current current(*context_);
  // The error may be that of the event's device: then the host waits, and finds out.
  if (context_->symbols().wait_event(state_->handle(), own->handle()) != kSuccess) return false;
  if (const auto recorded_by = own->stream()) state_->add_awaited(recorded_by);
  return true;
}

Status CannStream::recover() {
  return state_->recover();
}

std::string CannStream::nodes_of(const Binding& any) const {
  const auto& nodes = static_cast<const CannBinding&>(any).parts().nodes;
  if (nodes.empty()) return {};
  return nodes.size() == 1 ? nodes.front().name : nodes.front().name + " to " + nodes.back().name;
}

}  // namespace shunt::cann
