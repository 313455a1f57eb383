// The caches of a new session were set to zero by writes of 64 KiB each, and a device had no way to
// do it at once. Right since 59c6de0, by Buffer::fill(). Since caches are read by blocks
// (paged_attention), no row without a token is read, and a session writes nothing when it begins.
#include <gtest/gtest.h>

#include "shunt/engine.h"
#include "shunt/registry.h"
#include "support/models.h"

namespace shunt::test::caches_zeroed_in_small_writes_test {
namespace {

/// The calls that wrote into a device's memory.
struct Calls {
  std::size_t writes = 0;
  std::vector<std::size_t> fills = {};  ///< bytes of each
};

class CountingBuffer final : public Buffer {
 public:
  CountingBuffer(const BufferType& type, std::unique_ptr<Buffer> inner, Calls& calls)
      : type_(type), inner_(std::move(inner)), calls_(calls) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return inner_->size(); }
  std::byte* host_data() override { return inner_->host_data(); }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    ++calls_.writes;
    return inner_->write(offset, from);
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    return inner_->read(offset, to);
  }
  Status fill(std::size_t offset, std::size_t bytes, std::byte value) override {
    calls_.fills.push_back(bytes);
    return inner_->fill(offset, bytes, value);
  }

 private:
  const BufferType& type_;
  std::unique_ptr<Buffer> inner_;
  Calls& calls_;
};

class CountingMemory final : public BufferType {
 public:
  std::string_view name() const override { return "counting"; }
  std::size_t alignment() const override { return host_memory().alignment(); }
  bool host_accessible() const override { return true; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    SHUNT_ASSIGN(auto inner, host_memory().allocate(bytes));
    return std::make_unique<CountingBuffer>(*this, std::move(inner), calls);
  }
  Calls calls;
};

/// The CPU, with memory that counts calls.
class CountingCpu final : public Device {
 public:
  explicit CountingCpu(Device& cpu) : cpu_(cpu) {}
  std::string_view name() const override { return cpu_.name(); }
  DeviceInfo info() const override { return cpu_.info(); }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return cpu_.supports(graph, node, memory);
  }
  bool can_read(const BufferType& type) const override { return type.host_accessible(); }
  CountingMemory& memory() override { return memory_; }
  Result<std::unique_ptr<Stream>> open_stream() override { return cpu_.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    return cpu_.prepare(segment);
  }

 private:
  Device& cpu_;
  CountingMemory memory_;
};

TEST(CachesOfASession, AreNotWrittenWhenItBegins) {
  const auto registry = *Registry::create({});
  CountingCpu cpu(**registry->find("cpu0"));
  LoadOptions options;
  options.session.context = 4096;
  options.session.sequences = 2;
  const SynthModel file(tiny_shape());
  const auto model = Model::load(file.path(), std::vector<Device*>{&cpu}, options);
  ASSERT_TRUE(model) << model.error().message();
  Calls& calls = cpu.memory().calls;
  calls = {};
  const auto session = Session::create(*model, options.session);
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(calls.writes, 0U);
  EXPECT_TRUE(calls.fills.empty());
}

}  // namespace
}  // namespace shunt::test::caches_zeroed_in_small_writes_test
