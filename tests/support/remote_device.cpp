#include "support/remote_device.h"

#include <algorithm>
#include <vector>

#include "device/sync_stream.h"
#include "graph/op.h"
#include "shunt/message.h"

namespace shunt::test {

namespace {

class RemoteBuffer final : public Buffer {
 public:
  RemoteBuffer(RemoteMemory& type, std::unique_ptr<Buffer> inner)
      : type_(type), inner_(std::move(inner)) {
    type_.used += inner_->size();
  }
  ~RemoteBuffer() override { type_.used -= inner_->size(); }
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return inner_->size(); }
  std::byte* host_data() override {
    return type_.host_accessible() ? inner_->host_data() : nullptr;
  }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    return inner_->write(offset, from);
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    return inner_->read(offset, to);
  }
  Buffer& inner() { return *inner_; }

 private:
  RemoteMemory& type_;
  std::unique_ptr<Buffer> inner_;
};

class RemoteProgram final : public Program {
 public:
  RemoteProgram(const BufferType& memory, std::unique_ptr<Program> inner)
      : memory_(memory), inner_(std::move(inner)) {}
  const Needs& needs() const override { return inner_->needs(); }
  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override {
    std::vector<Address> nodes;
    for (const Address& at : addresses.nodes) nodes.push_back(inside(at));
    return inner_->bind({nodes, inside(addresses.scratch)});
  }

 private:
  /// Where the other finds it; nowhere, if it is not of this memory.
  Address inside(const Address& at) const {
    if (!at || &at.buffer->type() != &memory_) return {};
    return {&static_cast<RemoteBuffer*>(at.buffer)->inner(), at.offset};
  }

  const BufferType& memory_;
  std::unique_ptr<Program> inner_;
};

class RemoteStream final : public SyncStream {
 public:
  explicit RemoteStream(std::unique_ptr<Stream> inner) : inner_(std::move(inner)) {}
  Status copy(Address to, Address from, std::size_t bytes, std::span<Event* const> waits,
              Event* signal) override {
    const std::byte* data = static_cast<RemoteBuffer*>(from.buffer)->inner().host_data();
    return write(to, {data + from.offset, bytes}, waits, signal);
  }
  Status synchronize() override {
    SHUNT_TRY(SyncStream::synchronize());
    return inner_->synchronize();
  }

 protected:
  Status run_now(Binding& binding, const RunArgs& args) override {
    return inner_->run(binding, args, {}, nullptr);
  }

 private:
  std::unique_ptr<Stream> inner_;
};

}  // namespace

Result<std::unique_ptr<Buffer>> RemoteMemory::allocate(std::size_t bytes) {
  ++allocations;
  largest = std::max(largest, bytes);
  if (bytes > std::min(limits_.max_buffer, limits_.memory - used))
    return fail(ErrorCode::kOutOfMemory, "{}: no {} bytes", name_, bytes);
  SHUNT_ASSIGN(auto inner, inner_.allocate(bytes));
  return std::make_unique<RemoteBuffer>(*this, std::move(inner));
}

RemoteDevice::RemoteDevice(Device& inner, RemoteConfig config)
    : inner_(inner),
      config_(std::move(config)),
      memory_(config_.name + " memory", inner.memory(), false, {}),
      pinned_(config_.name + " pinned memory", inner.memory(), true,
              config_.pinned.value_or(RemotePinned())) {}

DeviceInfo RemoteDevice::info() const {
  DeviceInfo info;
  info.name = config_.name;
  info.description = fmt::format("exists only in tests, and computes as {} does", inner_.name());
  info.priority = 1;
  return info;
}

Support RemoteDevice::supports(const Graph& graph, NodeId id, MemoryOfLeaves) const {
  const Node& node = graph.node(id);
  if (!node.is_leaf() && !config_.ops.empty() &&
      !config_.ops.contains(std::string(node.op->info().name))) {
    return Support::no(Refusal::kOp,
                       fmt::format("{} has no kernel for {}", config_.name, node.op->info().name));
  }
  return inner_.supports(graph, id);
}

bool RemoteDevice::can_copy_from(const BufferType& type) const {
  return config_.copies_directly && dynamic_cast<const RemoteMemory*>(&type) != nullptr;
}

Result<std::unique_ptr<Stream>> RemoteDevice::open_stream() {
  SHUNT_ASSIGN(auto inner, inner_.open_stream());
  return std::make_unique<RemoteStream>(std::move(inner));
}

Result<std::unique_ptr<Program>> RemoteDevice::prepare(const SegmentView& segment) {
  SHUNT_ASSIGN(auto inner, inner_.prepare(segment));
  return std::make_unique<RemoteProgram>(memory_, std::move(inner));
}

}  // namespace shunt::test
