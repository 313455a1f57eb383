#include "support/test_device.h"

#include <cstring>
#include <iterator>
#include <vector>

#include "backend_support/event_stream.h"
#include "device/range.h"
#include "device/sync_stream.h"
#include "shunt/message.h"
#include "support/tensor_io.h"
#include "support/world_native.h"

namespace shunt::test {

/// A device's own memory, its pinned memory, or that for weights.
class TestMemory final : public BufferType {
 public:
  enum class Kind { kOwn, kPinned, kWeights };
  TestMemory(TestDevice& device, const TestDeviceConfig& config, Kind kind)
      : device_(device),
        config_(config),
        pinned_(kind == Kind::kPinned),
        weights_(kind == Kind::kWeights),
        name_(config.name + (pinned_    ? " pinned memory"
                             : weights_ ? " weights"
                                        : " memory")) {}
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override { return pinned_ ? 64 : config_.alignment; }
  std::size_t max_size() const override { return config_.max_buffer; }
  bool host_accessible() const override {
    return pinned_ || (config_.host_accessible && !weights_);
  }
  std::size_t size_of(const Tensor& tensor) const override {
    const std::size_t bytes = BufferType::size_of(tensor);
    return pinned_ ? bytes : (bytes + config_.padding - 1) / config_.padding * config_.padding;
  }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    if (weights_) return invalid("{} must know what lies where", name_);
    return allocate_any(bytes);
  }
  Result<std::unique_ptr<Buffer>> allocate_for(std::size_t bytes,
                                               std::span<const PlacedTensor> tensors) override;
  TestDevice& device() { return device_; }
  bool copies_directly() const { return config_.copies_directly; }

  void add(std::span<const std::byte> bytes) {
    used += bytes.size();
    const std::lock_guard lock(mutex_);
    if (!bytes.empty()) buffers_[bytes.data()] = bytes.size();
  }
  void remove(std::span<const std::byte> bytes) {
    used -= bytes.size();
    const std::lock_guard lock(mutex_);
    if (!bytes.empty()) buffers_.erase(bytes.data());
  }
  /// Whether these bytes are in one of its buffers.
  bool holds(std::span<const std::byte> bytes) const {
    const std::lock_guard lock(mutex_);
    const auto after = buffers_.upper_bound(bytes.data());
    if (after == buffers_.begin()) return false;
    const auto& [data, size] = *std::prev(after);
    return bytes.data() + bytes.size() <= data + size;
  }
  std::atomic<std::size_t> used = 0;

 private:
  Result<std::unique_ptr<Buffer>> allocate_any(std::size_t bytes);
  TestDevice& device_;
  const TestDeviceConfig& config_;
  bool pinned_;
  bool weights_;
  std::string name_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t, std::less<>> buffers_;
};

class TestBuffer final : public Buffer {
 public:
  TestBuffer(TestMemory& type, std::size_t size) : type_(type), bytes_(size, std::byte{0xff}) {
    bytes_.reserve(1);  // so that an empty one is somewhere, too
    type_.add(bytes_);
  }
  ~TestBuffer() override { type_.remove(bytes_); }
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return bytes_.size(); }
  std::byte* host_data() override { return type_.host_accessible() ? bytes_.data() : nullptr; }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(type_.device().count(&TestFailures::copy, "copy"));
    SHUNT_TRY(check_range(*this, offset, from.size()));
    if (!from.empty()) std::memcpy(bytes_.data() + offset, from.data(), from.size());
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(type_.device().count(&TestFailures::copy, "copy"));
    SHUNT_TRY(check_range(*this, offset, to.size()));
    if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
    return ok();
  }
  /// Only the device itself gets at this.
  std::byte* device_data() { return bytes_.data(); }

 private:
  TestMemory& type_;
  std::vector<std::byte> bytes_;
};

class TestProgram final : public Program {
 public:
  TestProgram(TestDevice& device, const SegmentView& segment)
      : device_(device), graph_(segment.graph), nodes_(segment.nodes.begin(), segment.nodes.end()) {
    needs_.scratch_bytes = device.config_.scratch;
    for (const BufferType* type : segment.memory) {
      if (type != nullptr && type == device.weights_.get()) needs_.scratch_bytes += 64;
    }
    for (NodeId id : nodes_) {
      const Node& node = graph_.node(id);
      if (!node.sources.empty() &&
          device.config_.in_place.contains(std::string(node.op->info().name)))
        needs_.in_place.push_back({id, 0});
    }
  }
  const Needs& needs() const override { return needs_; }
  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override;

 private:
  TestDevice& device_;
  const Graph& graph_;
  std::vector<NodeId> nodes_;
  Needs needs_;
};

class TestBinding final : public Binding {
 public:
  TestBinding(TestDevice& device, const Graph& graph, std::vector<NodeId> nodes,
              const Addresses& addresses)
      : device_(device),
        graph_(graph),
        nodes_(std::move(nodes)),
        addresses_(addresses.nodes.begin(), addresses.nodes.end()),
        scratch_(addresses.scratch) {}

  Status run(const DynamicDimValues& dynamic_dims, const std::atomic<bool>* cancel) {
    SHUNT_TRY(overwrite_scratch());
    for (NodeId id : nodes_) {
      if (device_.on_launch) device_.on_launch(id);
      if (cancel != nullptr && cancel->load()) return fail(ErrorCode::kCancelled, "cancelled");
      Status launched = device_.count(&TestFailures::launch, "launch");
      if (!launched) {
        const std::string node = graph_.describe(id);
        return std::move(launched.error()).with_node(node).with_context(node);
      }
      if (!device_.config_.computes) {
        ++device_.computed_;
        continue;
      }
      const Node& node = graph_.node(id);
      std::vector<RefTensor> values(node.sources.size());
      std::vector<const RefTensor*> sources(node.sources.size(), nullptr);
      for (std::size_t i = 0; i < node.sources.size(); ++i) {
        if (node.sources[i] == kNoNode) continue;
        const Tensor& tensor = graph_.node(node.sources[i]).result;
        SHUNT_ASSIGN(const std::byte* data, locate(node.sources[i]));
        values[i] = read_tensor(data, tensor, actual_sizes(tensor, dynamic_dims));
        sources[i] = &values[i];
      }
      RefTensor result(actual_sizes(node.result, dynamic_dims));
      if (node.writes_storage) result = values[0];
      node.op->reference(sources, node.params, result);
      const auto wrong = device_.config_.wrong.find(std::string(node.op->info().name));
      if (wrong != device_.config_.wrong.end()) wrong->second(result);
      SHUNT_ASSIGN(std::byte * data, locate(id));
      write_tensor(result, node.result, data);
      const std::size_t bytes = static_cast<std::size_t>(byte_span(node.result));
      if (node.storage == id)
        std::memset(data + bytes, 0xee, addresses_[id].buffer->type().size_of(node.result) - bytes);
      ++device_.computed_;
    }
    return ok();
  }

  /// The time that its nodes take on the world's clock.
  double seconds() const {
    double sum = 0;
    for (NodeId id : nodes_) {
      const auto found = device_.config_.seconds_of.find(graph_.node(id).op->info().name);
      sum += found == device_.config_.seconds_of.end() ? device_.config_.seconds_per_node
                                                       : found->second;
    }
    return sum;
  }

 private:
  Status overwrite_scratch() {
    const std::size_t bytes = device_.config_.scratch;
    if (bytes == 0 || device_.config_.in_host_memory) return ok();
    auto* own = dynamic_cast<TestBuffer*>(scratch_.buffer);
    if (own == nullptr || scratch_.offset % device_.config_.alignment != 0)
      return fail(ErrorCode::kInternal, "{} has no scratch that it can use", device_.name());
    SHUNT_TRY(check_range(*own, scratch_.offset, bytes));
    std::memset(own->device_data() + scratch_.offset, 0xee, bytes);
    return ok();
  }

  Result<std::byte*> locate(NodeId id) const {
    const Address& at = addresses_[id];
    if (!at)
      return fail(ErrorCode::kInternal, "{} has no address on {}", graph_.describe(id),
                  device_.name());
    if (!device_.can_read(at.buffer->type())) {
      return fail(ErrorCode::kInternal, "{} is in {} memory", graph_.describe(id),
                  at.buffer->type().name());
    }
    const BufferType& type = at.buffer->type();
    if (graph_.node(id).storage == id) {
      SHUNT_TRY(check_range(*at.buffer, at.offset, type.size_of(graph_.node(id).result)));
      if (&type == device_.memory_.get() && at.offset % type.alignment() != 0) {
        return fail(ErrorCode::kInternal, "{} is at {}, which is no multiple of {}",
                    graph_.describe(id), at.offset, type.alignment());
      }
    }
    auto* own = dynamic_cast<TestBuffer*>(at.buffer);
    return (own != nullptr ? own->device_data() : at.buffer->host_data()) + at.offset;
  }

  TestDevice& device_;
  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::vector<Address> addresses_;
  Address scratch_;
};

class TestStream final : public SyncStream {
 public:
  explicit TestStream(TestDevice& device) : device_(device) {}
  Result<std::unique_ptr<Event>> create_timed_event() override {
    return device_.config_.tells_times ? SyncStream::create_timed_event() : create_event();
  }
  Status write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
               Event* signal) override {
    SHUNT_TRY(SyncStream::write(to, from, waits, signal));
    ++device_.copies_;
    device_.count_received(from);
    return ok();
  }
  Status write_2d(Address to, const std::byte* from, const CopyShape& shape,
                  std::span<Event* const> waits, Event* signal) override {
    SHUNT_TRY(SyncStream::write_2d(to, from, shape, waits, signal));
    ++device_.copies_;
    device_.count_received(from, shape);
    return ok();
  }
  Status read_2d(std::byte* to, Address from, const CopyShape& shape, std::span<Event* const> waits,
                 Event* signal) override {
    SHUNT_TRY(SyncStream::read_2d(to, from, shape, waits, signal));
    ++device_.copies_;
    device_.count_sent(to, shape);
    return ok();
  }
  Status read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
              Event* signal) override {
    SHUNT_TRY(SyncStream::read(to, from, waits, signal));
    ++device_.copies_;
    device_.count_sent(to);
    return ok();
  }
  Status copy(Address to, Address from, std::size_t bytes, std::span<Event* const> waits,
              Event* signal) override {
    std::vector<std::byte> through(bytes);
    SHUNT_TRY(SyncStream::read(through, from, waits, nullptr));
    SHUNT_TRY(SyncStream::write(to, through, {}, signal));
    ++device_.copies_;
    device_.received_directly_ += bytes;
    return ok();
  }

 protected:
  Status run_now(Binding& binding, const RunArgs& args) override {
    device_.threads_ = args.threads;
    return static_cast<TestBinding&>(binding).run(args.dynamic_dims, args.cancel);
  }

 private:
  TestDevice& device_;
};

/// The same in a world: everything happens later.
class TestWorldStream final : public Stream {
 public:
  TestWorldStream(TestWorld& world, TestDevice& device)
      : queue_(world), device_(device), config_(device.config_) {}
  ~TestWorldStream() override { queue_.world().run_all(queue_); }

  Result<std::unique_ptr<Event>> create_event() override {
    return std::make_unique<WorldEvent>(queue_.world(), false, drained());
  }
  Result<std::unique_ptr<Event>> create_timed_event() override {
    ++device_.timed_events;
    return std::make_unique<WorldEvent>(queue_.world(), config_.tells_times, drained());
  }
  Status run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
             Event* signal) override {
    auto& bound = static_cast<TestBinding&>(binding);
    device_.threads_ = args.threads;
    submit(bound.seconds(), waits, signal,
           [&bound, dynamic_dims = args.dynamic_dims, cancel = args.cancel] {
             return bound.run(dynamic_dims, cancel);
           });
    return ok();
  }
  Status write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
               Event* signal) override {
    return copy_later(from.size(), waits, signal, [this, to, from] {
      device_.count_received(from);
      return to.buffer->write(to.offset, from);
    });
  }
  Status read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
              Event* signal) override {
    return copy_later(to.size(), waits, signal, [this, to, from] {
      device_.count_sent(to);
      return from.buffer->read(from.offset, to);
    });
  }
  Status copy(Address to, Address from, std::size_t bytes, std::span<Event* const> waits,
              Event* signal) override {
    return copy_later(bytes, waits, signal, [this, to, from, bytes]() -> Status {
      std::vector<std::byte> through(bytes);
      SHUNT_TRY(from.buffer->read(from.offset, through));
      device_.received_directly_ += bytes;
      return to.buffer->write(to.offset, through);
    });
  }
  Status write_2d(Address to, const std::byte* from, const CopyShape& shape,
                  std::span<Event* const> waits, Event* signal) override {
    return copy_later(shape.rows * shape.bytes, waits, signal, [this, to, from, shape] {
      device_.count_received(from, shape);
      return to.buffer->write_2d(to.offset, from, shape);
    });
  }
  Status read_2d(std::byte* to, Address from, const CopyShape& shape, std::span<Event* const> waits,
                 Event* signal) override {
    return copy_later(shape.rows * shape.bytes, waits, signal, [this, to, from, shape] {
      device_.count_sent(to, shape);
      return from.buffer->read_2d(to, from.offset, shape);
    });
  }
  Status synchronize() override {
    queue_.synchronize();
    return ok();
  }

 private:
  WorldStream* drained() { return config_.has_events ? nullptr : &queue_; }
  void submit(double seconds, std::span<Event* const> waits, Event* signal,
              std::function<Status()> run) {
    queue_.submit({std::move(run), seconds}, waits, signal);
  }
  Status copy_later(std::size_t bytes, std::span<Event* const> waits, Event* signal,
                    std::function<Status()> run) {
    ++device_.copies_;
    submit(config_.seconds_per_byte * static_cast<double>(bytes), waits, signal, std::move(run));
    return ok();
  }

  WorldStream queue_;
  TestDevice& device_;
  const TestDeviceConfig& config_;
};

/// The stream of a vendor's library, for the device in a world.
class TestNativeStream final : public WorldNativeStream {
 public:
  TestNativeStream(TestWorld& world, TestDevice& device)
      : WorldNativeStream(world, device.config_.tells_times), device_(device) {}
  Status run(std::uint64_t task, Binding& binding, const RunArgs& args) override {
    auto& bound = static_cast<TestBinding&>(binding);
    device_.threads_ = args.threads;
    submit(task, bound.seconds(), [&bound, dynamic_dims = args.dynamic_dims, cancel = args.cancel] {
      return bound.run(dynamic_dims, cancel);
    });
    return ok();
  }
  Status write(std::uint64_t task, Address to, std::span<const std::byte> from) override {
    return copy_later(task, from.size(), [this, to, from] {
      device_.count_received(from);
      return to.buffer->write(to.offset, from);
    });
  }
  Status read(std::uint64_t task, std::span<std::byte> to, Address from) override {
    return copy_later(task, to.size(), [this, to, from] {
      device_.count_sent(to);
      return from.buffer->read(from.offset, to);
    });
  }
  Status copy(std::uint64_t task, Address to, Address from, std::size_t bytes) override {
    return copy_later(task, bytes, [this, to, from, bytes]() -> Status {
      std::vector<std::byte> through(bytes);
      SHUNT_TRY(from.buffer->read(from.offset, through));
      device_.received_directly_ += bytes;
      return to.buffer->write(to.offset, through);
    });
  }

  Status write_2d(std::uint64_t task, Address to, const std::byte* from,
                  const CopyShape& shape) override {
    return copy_later(task, shape.rows * shape.bytes, [this, to, from, shape] {
      device_.count_received(from, shape);
      return to.buffer->write_2d(to.offset, from, shape);
    });
  }
  Status read_2d(std::uint64_t task, std::byte* to, Address from, const CopyShape& shape) override {
    return copy_later(task, shape.rows * shape.bytes, [this, to, from, shape] {
      device_.count_sent(to, shape);
      return from.buffer->read_2d(to, from.offset, shape);
    });
  }

 protected:
  bool lost() const override { return device_.lost(); }

 private:
  Status copy_later(std::uint64_t task, std::size_t bytes, std::function<Status()> work) {
    ++device_.copies_;
    submit(task, device_.config_.seconds_per_byte * static_cast<double>(bytes), std::move(work));
    return ok();
  }
  TestDevice& device_;
};

Result<std::unique_ptr<Binding>> TestProgram::bind(const Addresses& addresses) {
  SHUNT_TRY(device_.count(&TestFailures::bind, "binding"));
  return std::make_unique<TestBinding>(device_, graph_, nodes_, addresses);
}

Result<std::unique_ptr<Buffer>> TestMemory::allocate_for(std::size_t bytes,
                                                         std::span<const PlacedTensor> tensors) {
  if (weights_) device_.placed_.emplace_back(tensors.begin(), tensors.end());
  return allocate_any(bytes);
}

Result<std::unique_ptr<Buffer>> TestMemory::allocate_any(std::size_t bytes) {
  ++device_.allocations_;
  SHUNT_TRY(device_.count(&TestFailures::allocation, "allocation"));
  const std::size_t taken = used;
  if (bytes > config_.max_buffer || (!pinned_ && bytes > config_.memory - taken)) {
    return fail(ErrorCode::kOutOfMemory, "{} of {} bytes are taken, {} more do not fit", taken,
                config_.memory, bytes);
  }
  return std::make_unique<TestBuffer>(*this, bytes);
}

TestDevice::TestDevice(TestDeviceConfig config)
    : config_(std::move(config)),
      memory_(std::make_unique<TestMemory>(*this, config_, TestMemory::Kind::kOwn)),
      weights_(std::make_unique<TestMemory>(*this, config_, TestMemory::Kind::kWeights)),
      health_(std::make_shared<DeviceHealth>(config_.name)) {
  if (config_.pins_memory)
    pinned_ = std::make_unique<TestMemory>(*this, config_, TestMemory::Kind::kPinned);
}
TestDevice::~TestDevice() = default;

DeviceInfo TestDevice::info() const {
  ++infos_;
  DeviceInfo info;
  info.name = config_.name;
  info.description = "exists only in tests";
  info.kind = config_.kind;
  info.priority = config_.priority;
  info.host_memory = config_.host_memory;
  info.twin = config_.twin;
  info.asynchronous = config_.world != nullptr;
  if (config_.kind != DeviceKind::kCpu) info.speed = config_.speed;
  info.dynamic_dim_granularity = config_.dynamic_dim_granularity;
  info.memory_total = config_.memory;
  return info;
}

std::uint64_t TestDevice::memory_free() const {
  ++memory_frees_;
  return config_.memory - memory_->used;
}

Support TestDevice::supports(const Graph& graph, NodeId id, MemoryOfLeaves memory) const {
  const Node& node = graph.node(id);
  if (node.is_leaf()) return Support::yes();
  if (!config_.ops.empty() && !config_.ops.contains(std::string(node.op->info().name))) {
    return Support::no(Refusal::kOp,
                       fmt::format("{} has no kernel for {}", config_.name, node.op->info().name));
  }
  if (const Support own = supports_tensor(node.result); !own) return own;
  for (std::size_t i = 0; i < node.sources.size(); ++i) {
    if (node.sources[i] == kNoNode) continue;
    const Node& source = graph.node(node.sources[i]);
    const auto wanted = config_.wants_types.find(source.result.dtype);
    const bool weight = graph.node(source.storage).role == Role::kWeight;
    if (weight && wanted != config_.wants_types.end())
      return Support::yes_if(static_cast<int>(i), wanted->second);
    if (const Support readable = supports_tensor(source.result); !readable) return readable;
    if (!memory.empty() && memory[source.storage] == weights_.get() && !reads_weights(node)) {
      return Support::no(Refusal::kLayout, fmt::format("{} does not read {}", node.op->info().name,
                                                       weights_->name()));
    }
  }
  return config_.answer ? config_.answer(graph, id) : Support::yes();
}

Support TestDevice::supports_tensor(const Tensor& tensor) const {
  if (!config_.types.empty() && !config_.types.contains(tensor.dtype)) {
    return Support::no(Refusal::kType,
                       fmt::format("{} does not know {}", config_.name, to_string(tensor.dtype)));
  }
  if (!config_.reads_strided && !is_contiguous(tensor)) {
    return Support::no(Refusal::kLayout,
                       fmt::format("{} wants {} in one piece", config_.name, to_string(tensor)));
  }
  return Support::yes();
}

bool TestDevice::offload_op(const Graph& graph, NodeId id) const {
  return config_.wants.contains(std::string(graph.node(id).op->info().name));
}

bool TestDevice::can_read(const BufferType& type) const {
  const bool host =
      (config_.host_accessible && config_.reads_host_memory) || config_.in_host_memory;
  return &type == memory_.get() || &type == weights_.get() || (host && type.host_accessible());
}

BufferType& TestDevice::memory() {
  return config_.in_host_memory ? host_memory() : *memory_;
}
double TestDevice::largest_number(const Graph& graph, NodeId node) const {
  const std::string op(graph.node(node).op->info().name);
  const bool limited = config_.limited.empty() || config_.limited.contains(op);
  return limited ? config_.largest_number : std::numeric_limits<double>::infinity();
}

bool TestDevice::reads_weights(const Node& node) const {
  const std::string op(node.op->info().name);
  return config_.reads_weights.empty() || config_.reads_weights.contains(op);
}

std::vector<WeightCandidate> TestDevice::weight_forms(const Graph& graph, NodeId leaf) {
  if (!config_.wants_weight || !config_.wants_weight(graph, leaf)) return {};
  return {{weights_.get(), false, 0.5, "for weights alone"}};
}
std::size_t TestDevice::weights_allocated() const {
  return weights_->used;
}
BufferType* TestDevice::staging_memory() {
  if (config_.pins_with != nullptr) return config_.pins_with->staging_memory();
  return pinned_.get();
}
std::size_t TestDevice::pinned() const {
  return pinned_ ? pinned_->used.load() : 0;
}

Result<std::shared_ptr<const void>> TestDevice::pin_host(std::span<const std::byte> range) {
  if (!config_.pins_host) return Device::pin_host(range);
  if (range.size() > *config_.pins_host - *host_pinned_) {
    return fail(ErrorCode::kOutOfMemory, "{} can't pin {} bytes", config_.name, range.size());
  }
  *host_pinned_ += range.size();
  return std::shared_ptr<const void>(range.data(), [pinned = host_pinned_, bytes = range.size()](
                                                       const void*) { *pinned -= bytes; });
}

void TestDevice::count_received(std::span<const std::byte> from) {
  received_ += from.size();
  if (pinned_ && pinned_->holds(from)) moved_through_pinned_ += from.size();
}

void TestDevice::count_sent(std::span<const std::byte> to) {
  sent_ += to.size();
  if (pinned_ && pinned_->holds(to)) moved_through_pinned_ += to.size();
}

void TestDevice::count_received(const std::byte* from, const CopyShape& shape) {
  if (shape.bytes == 0) return;
  for (std::size_t i = 0; i < shape.rows; ++i) {
    count_received({from + i * shape.from_pitch, shape.bytes});
  }
}

void TestDevice::count_sent(const std::byte* to, const CopyShape& shape) {
  if (shape.bytes == 0) return;
  for (std::size_t i = 0; i < shape.rows; ++i) {
    count_sent(std::span<const std::byte>(to + i * shape.to_pitch, shape.bytes));
  }
}

std::size_t TestDevice::allocated() const {
  return memory_->used;
}
Result<std::unique_ptr<Stream>> TestDevice::open_stream() {
  SHUNT_TRY(count(&TestFailures::stream, "stream"));
  if (config_.late_errors) {
    return EventStream::create(std::make_unique<TestNativeStream>(*config_.world, *this), health_);
  }
  if (config_.world != nullptr) {
    return std::make_unique<TestWorldStream>(*config_.world, *this);
  }
  return std::make_unique<TestStream>(*this);
}

bool TestDevice::can_copy_from(const BufferType& type) const {
  const auto* other = dynamic_cast<const TestMemory*>(&type);
  return config_.copies_directly && other != nullptr && other->copies_directly();
}

void TestDevice::fail_at(const TestFailures& failures) {
  const std::lock_guard lock(mutex_);
  failures_ = failures;
  failed_ = false;
}

bool TestDevice::lost() const {
  const std::lock_guard lock(mutex_);
  return failed_ && failures_.for_good;
}

bool TestDevice::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

Status TestDevice::count(std::size_t TestFailures::*kind, const char* what) {
  const std::lock_guard lock(mutex_);
  bool now = failed_ && failures_.for_good;
  for (std::size_t TestFailures::*each : {kind, &TestFailures::any}) {
    std::size_t& left = failures_.*each;
    now |= left > 0 && --left == 0;
  }
  if (!now) return ok();
  failed_ = true;
  const bool memory = kind == &TestFailures::allocation && !failures_.for_good;
  return fail(memory ? ErrorCode::kOutOfMemory : ErrorCode::kDevice, "{}: the {} failed",
              config_.name, what)
      .with_vendor({719, "as the test wanted it"});
}

Result<std::unique_ptr<Program>> TestDevice::prepare(const SegmentView& segment) {
  SHUNT_TRY(count(&TestFailures::prepare, "preparation"));
  return std::make_unique<TestProgram>(*this, segment);
}

}  // namespace shunt::test
