#include "support/test_device.h"

#include <cstring>
#include <vector>

#include "base/fail.h"
#include "device/range.h"
#include "device/sync_stream.h"
#include "support/tensor_io.h"

namespace shunt::test {

class TestMemory final : public BufferType {
 public:
  TestMemory(TestDevice& device, const TestDeviceConfig& config)
      : device_(device), config_(config), name_(config.name + " memory") {}
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override { return 64; }
  std::size_t max_size() const override { return config_.max_buffer; }
  bool host_accessible() const override { return config_.host_accessible; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  TestDevice& device() { return device_; }
  std::atomic<std::size_t> used = 0;

 private:
  TestDevice& device_;
  const TestDeviceConfig& config_;
  std::string name_;
};

class TestBuffer final : public Buffer {
 public:
  TestBuffer(TestMemory& type, std::size_t size) : type_(type), bytes_(size, std::byte{0xff}) {
    type_.used += size;
  }
  ~TestBuffer() override { type_.used -= bytes_.size(); }
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
      : device_(device),
        graph_(segment.graph),
        nodes_(segment.nodes.begin(), segment.nodes.end()) {}
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
        addresses_(addresses.nodes.begin(), addresses.nodes.end()) {}

  Status run(const ExtentValues& extents, const std::atomic<bool>* cancel) {
    for (NodeId id : nodes_) {
      if (device_.on_launch) device_.on_launch(id);
      if (cancel != nullptr && cancel->load()) return fail(ErrorCode::kCancelled, "cancelled");
      Status launched = device_.count(&TestFailures::launch, "launch");
      if (!launched) {
        const std::string node = graph_.describe(id);
        return std::move(launched.error()).with_node(node).with_context(node);
      }
      const Node& node = graph_.node(id);
      std::vector<RefTensor> values(node.sources.size());
      std::vector<const RefTensor*> sources(node.sources.size(), nullptr);
      for (std::size_t i = 0; i < node.sources.size(); ++i) {
        if (node.sources[i] == kNoNode) continue;
        const Tensor& tensor = graph_.node(node.sources[i]).result;
        SHUNT_ASSIGN(const std::byte* data, locate(node.sources[i]));
        values[i] = read_tensor(data, tensor, actual_sizes(tensor, extents));
        sources[i] = &values[i];
      }
      RefTensor result(actual_sizes(node.result, extents));
      if (node.writes_storage) result = values[0];
      node.op->reference(sources, node.params, result);
      const auto wrong = device_.config_.wrong.find(std::string(node.op->info().name));
      if (wrong != device_.config_.wrong.end()) wrong->second(result);
      SHUNT_ASSIGN(std::byte * data, locate(id));
      write_tensor(result, node.result, data);
      ++device_.computed_;
    }
    return ok();
  }

  std::size_t size() const { return nodes_.size(); }

 private:
  Result<std::byte*> locate(NodeId id) const {
    const Address& at = addresses_[id];
    if (!at)
      return fail(ErrorCode::kInternal, "{} has no address on {}", graph_.describe(id),
                  device_.info().name);
    if (!device_.can_read(at.buffer->type())) {
      return fail(ErrorCode::kInternal, "{} is in {} memory", graph_.describe(id),
                  at.buffer->type().name());
    }
    auto* own = dynamic_cast<TestBuffer*>(at.buffer);
    return (own != nullptr ? own->device_data() : at.buffer->host_data()) + at.offset;
  }

  TestDevice& device_;
  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::vector<Address> addresses_;
};

class TestStream final : public SyncStream {
 public:
  explicit TestStream(TestDevice& device) : device_(device) {}
  Status write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
               Event* signal) override {
    SHUNT_TRY(SyncStream::write(to, from, waits, signal));
    device_.received_ += from.size();
    return ok();
  }

 protected:
  Status run_now(Binding& binding, const RunArgs& args) override {
    return static_cast<TestBinding&>(binding).run(args.extents, args.cancel);
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
    return std::make_unique<WorldEvent>(queue_.world());
  }
  Result<std::unique_ptr<Event>> create_timed_event() override {
    ++device_.timed_events;
    return std::make_unique<WorldEvent>(queue_.world(), config_.tells_times);
  }
  Status run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
             Event* signal) override {
    auto& bound = static_cast<TestBinding&>(binding);
    submit(config_.seconds_per_node * static_cast<double>(bound.size()), waits, signal,
           [&bound, extents = args.extents, cancel = args.cancel] {
             return bound.run(extents, cancel);
           });
    return ok();
  }
  Status write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
               Event* signal) override {
    return copy_later(from.size(), waits, signal, [this, to, from] {
      device_.received_ += from.size();
      return to.buffer->write(to.offset, from);
    });
  }
  Status read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
              Event* signal) override {
    return copy_later(to.size(), waits, signal,
                      [to, from] { return from.buffer->read(from.offset, to); });
  }
  Status copy(Address to, Address from, std::size_t bytes, std::span<Event* const> waits,
              Event* signal) override {
    return copy_later(bytes, waits, signal, [=]() -> Status {
      std::vector<std::byte> through(bytes);
      SHUNT_TRY(from.buffer->read(from.offset, through));
      return to.buffer->write(to.offset, through);
    });
  }
  Status synchronize() override {
    queue_.synchronize();
    return ok();
  }

 private:
  void submit(double seconds, std::span<Event* const> waits, Event* signal,
              std::function<Status()> run) {
    queue_.submit({std::move(run), seconds}, waits, signal);
  }
  Status copy_later(std::size_t bytes, std::span<Event* const> waits, Event* signal,
                    std::function<Status()> run) {
    submit(config_.seconds_per_byte * static_cast<double>(bytes), waits, signal, std::move(run));
    return ok();
  }

  WorldStream queue_;
  TestDevice& device_;
  const TestDeviceConfig& config_;
};

Result<std::unique_ptr<Binding>> TestProgram::bind(const Addresses& addresses) {
  SHUNT_TRY(device_.count(&TestFailures::bind, "binding"));
  return std::make_unique<TestBinding>(device_, graph_, nodes_, addresses);
}

Result<std::unique_ptr<Buffer>> TestMemory::allocate(std::size_t bytes) {
  ++device_.allocations_;
  SHUNT_TRY(device_.count(&TestFailures::allocation, "allocation"));
  const std::size_t taken = used;
  if (bytes > config_.max_buffer || bytes > config_.memory - taken) {
    return fail(ErrorCode::kOutOfMemory, "{} of {} bytes are taken, {} more do not fit", taken,
                config_.memory, bytes);
  }
  return std::make_unique<TestBuffer>(*this, bytes);
}

TestDevice::TestDevice(TestDeviceConfig config)
    : config_(std::move(config)), memory_(std::make_unique<TestMemory>(*this, config_)) {}
TestDevice::~TestDevice() = default;

DeviceInfo TestDevice::info() const {
  DeviceInfo info;
  info.name = config_.name;
  info.description = "exists only in tests";
  info.kind = config_.kind;
  info.priority = config_.priority;
  info.asynchronous = config_.world != nullptr;
  if (config_.kind != DeviceKind::kCpu) info.speed = config_.speed;
  info.memory_total = config_.memory;
  info.memory_free = config_.memory - memory_->used;
  return info;
}

Support TestDevice::supports(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  if (node.is_leaf()) return Support::yes();
  if (!config_.ops.empty() && !config_.ops.contains(std::string(node.op->info().name))) {
    return Support::no(Refusal::kOp,
                       fmt::format("{} has no kernel for {}", config_.name, node.op->info().name));
  }
  for (std::size_t i = 0; i < node.sources.size(); ++i) {
    if (node.sources[i] == kNoNode) continue;
    const Node& source = graph.node(node.sources[i]);
    if (graph.node(source.storage).role != Role::kWeight) continue;
    const auto wanted = config_.wants_types.find(source.result.dtype);
    if (wanted != config_.wants_types.end())
      return Support::yes_if(static_cast<int>(i), wanted->second);
  }
  return config_.answer ? config_.answer(graph, id) : Support::yes();
}

bool TestDevice::wants(const Graph& graph, NodeId id) const {
  return config_.wants.contains(std::string(graph.node(id).op->info().name));
}

bool TestDevice::can_read(const BufferType& type) const {
  return &type == memory_.get() || (config_.host_accessible && type.host_accessible());
}

BufferType& TestDevice::memory() {
  return *memory_;
}
std::size_t TestDevice::allocated() const {
  return memory_->used;
}
Result<std::unique_ptr<Stream>> TestDevice::open_stream() {
  SHUNT_TRY(count(&TestFailures::stream, "stream"));
  if (config_.world != nullptr) {
    return std::make_unique<TestWorldStream>(*config_.world, *this);
  }
  return std::make_unique<TestStream>(*this);
}

bool TestDevice::can_copy_from(const BufferType& type) const {
  return config_.copies_directly && dynamic_cast<const TestMemory*>(&type) != nullptr;
}

void TestDevice::fail_at(const TestFailures& failures) {
  const std::lock_guard lock(mutex_);
  failures_ = failures;
  failed_ = false;
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
