// A model runs, and gives the same text, whatever memory devices have, and whatever they say about
// it. The CPU is the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/load/session_steps.h"
#include "engine/model_state.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_fit_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// A test device that does not say how much of its memory is free.
class Reticent final : public Device {
 public:
  explicit Reticent(TestDeviceConfig config) : device_(std::move(config)) {}
  std::string_view name() const override { return device_.name(); }
  DeviceInfo info() const override {
    DeviceInfo info = device_.info();
    info.memory_total = 0;
    return info;
  }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return device_.supports(graph, node, memory);
  }
  bool can_read(const BufferType& type) const override { return device_.can_read(type); }
  BufferType& memory() override { return device_.memory(); }
  Result<std::unique_ptr<Stream>> open_stream() override { return device_.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    return device_.prepare(segment);
  }
  TestDevice& inside() { return device_; }

 private:
  TestDevice device_;
};

class EngineFit : public ::testing::Test {
 protected:
  EngineFit() {
    auto registry = Registry::create({});
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    cpu_ = registry_->devices().back();
    alone_ = text({cpu_});
    EXPECT_EQ(alone_.size(), 8U);
  }

  static SynthOptions shape() {
    SynthOptions options;
    options.layers = 4;
    options.width = 32;
    options.feed_forward = 96;
    options.vocabulary = 300;
    return options;
  }

  struct Loaded {
    std::shared_ptr<const Model> model;
    std::unique_ptr<Session> session;
  };
  Result<Loaded> load(const std::vector<Device*>& devices,
                      std::optional<PlacementFile> placement = {}) {
    // Initialized at once: GCC 12 warns falsely about an assignment to the empty optional.
    const LoadOptions options = {.devices = {},
                                 .progress = {},
                                 .placement = {.file = std::move(placement)},
                                 .session = small_session(),
                                 .memory_margin = 0};
    Loaded loaded;
    SHUNT_ASSIGN(loaded.model, Model::load(file_.path(), devices, options));
    SHUNT_ASSIGN(loaded.session, Session::create(loaded.model, small_session()));
    return loaded;
  }

  static std::vector<std::int32_t> text(Session& session) {
    const std::vector<std::int32_t> prompt = {1, 20, 30, 40, 50};
    GenerateOptions options;
    options.max_tokens = 8;
    options.ignore_end = true;
    options.sampling.temperature = 0;
    const auto result = generate(session, prompt, options, {});
    EXPECT_TRUE(result) << result.error().message();
    return result ? result->tokens : std::vector<std::int32_t>();
  }
  std::vector<std::int32_t> text(const std::vector<Device*>& devices) {
    auto loaded = load(devices);
    EXPECT_TRUE(loaded) << loaded.error().message();
    return loaded ? text(*loaded->session) : std::vector<std::int32_t>();
  }

  SynthModel file_{shape()};
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  std::vector<std::int32_t> alone_;
};

constexpr std::size_t kMore = std::size_t{1} << 19;  // than model and session take

TEST_F(EngineFit, DeviceOfAnyMemorySizeComputesWhatFits) {
  std::size_t before = 0;
  for (std::size_t memory = 0; memory <= kMore; memory += 16000) {
    TestDevice device({.name = "test0", .memory = memory});
    EXPECT_EQ(text({&device, cpu_}), alone_) << memory;
    EXPECT_EQ(device.allocated(), 0U);
    EXPECT_GE(device.computed(), before) << memory;
    before = device.computed();
  }
  EXPECT_GT(before, 0U);
}

TEST_F(EngineFit, AnyFailedAllocationNamesALineOfThePlacementFile) {
  std::string text;
  {
    TestDevice device({.name = "test0"});
    const auto free = load({&device, cpu_});
    ASSERT_TRUE(free) << free.error().message();
    const auto state = free->model->state();
    const auto step =
        state->build(session_steps(*complete(small_session(), state->info)).front(), {});
    ASSERT_TRUE(step);
    const auto placed = state->place_step(*step, state->memory_of(**step), state->devices);
    ASSERT_TRUE(placed);
    text = write_placement((*step)->graph, *placed);
  }
  const auto file = read_placement(text, "edited.placement");
  ASSERT_TRUE(file) << file.error().message();
  for (std::size_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 1000U);
    TestDevice device({.name = "test0"});
    device.fail_at({.allocation = n});
    const auto loaded = load({&device, cpu_}, *file);
    if (!device.has_failed()) {
      EXPECT_GT(n, 1U);
      ASSERT_TRUE(loaded) << loaded.error().message();
      EXPECT_EQ(EngineFit::text(*loaded->session), alone_);
      break;
    }
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code(), ErrorCode::kOutOfMemory);
    EXPECT_THAT(loaded.error().message(),
                ::testing::ContainsRegex("edited.placement:[0-9]+: .* is too much: test0 needs "));
  }
}

TEST_F(EngineFit, DeviceWithUnknownMemorySizeKeepsTheText) {
  for (std::size_t memory = 0; memory <= kMore; memory += 24000) {
    Reticent device({.name = "test0", .memory = memory});
    EXPECT_EQ(text({&device, cpu_}), alone_) << memory;
    EXPECT_EQ(device.inside().allocated(), 0U);
  }
}

TEST_F(EngineFit, DevicesWithFewOpsAndSmallBuffersKeepTheText) {
  for (std::size_t buffer = 1000; buffer <= 1000000; buffer *= 4) {
    TestDevice first({.name = "test0", .ops = {"matmul", "add"}, .max_buffer = buffer});
    TestDevice second({.name = "test1", .memory = 100000, .max_buffer = 4 * buffer});
    EXPECT_EQ(text({&first, &second, cpu_}), alone_) << buffer;
  }
}

TEST_F(EngineFit, AnyFailedAllocationMovesLayersToTheCpu) {
  for (std::size_t n = 1; n <= 12; ++n) {
    TestDevice device({.name = "test0"});
    TestFailures failures;
    failures.allocation = n;
    device.fail_at(failures);
    auto loaded = load({&device, cpu_});
    ASSERT_TRUE(loaded) << n << ": " << loaded.error().message();
    EXPECT_EQ(text(*loaded->session), alone_) << n;
    if (n > 4) continue;  // weights, cache, a plan, another
    const auto refused = Contains(HasSubstr("test0: refused memory"));
    EXPECT_TRUE(::testing::Value(loaded->model->notes(), refused) ||
                ::testing::Value(loaded->session->notes(), refused))
        << n;
  }
}

TEST_F(EngineFit, AppendAllMayMoveCachesIfItsPlanDoesNotFit) {
  const std::vector<std::int32_t> prompt = {1, 20, 30, 40, 50, 60, 70, 80, 90};
  int moved = 0;
  const auto all_logits = [&](const std::vector<Device*>& devices) {
    std::vector<float> all;
    auto loaded = load(devices);
    EXPECT_TRUE(loaded) << loaded.error().message();
    if (!loaded) return all;
    const Ledger before = loaded->session->ledger();
    // The data in the caches by then must not be lost when they move.
    EXPECT_TRUE(loaded->session->append(std::vector<std::int32_t>{1, 7, 77, 8, 88}));
    const Status status =
        loaded->session->append_all(prompt, [&](std::size_t, std::span<const float> logits) {
          all.insert(all.end(), logits.begin(), logits.end());
        });
    EXPECT_TRUE(status) << status.error().message();
    const Ledger after = loaded->session->ledger();
    EXPECT_EQ(after.total(Purpose::kCache), before.total(Purpose::kCache));
    if (after.bytes("test0", Purpose::kCache) < before.bytes("test0", Purpose::kCache)) ++moved;
    return all;
  };
  const auto expected = all_logits({cpu_});
  ASSERT_EQ(expected.size(), prompt.size() * 300);
  for (std::size_t memory = 40000; memory <= kMore; memory += 24000) {
    for (const bool says : {true, false}) {
      TestDevice plain({.name = "test0", .memory = memory});
      Reticent reticent({.name = "test0", .memory = memory});
      const auto logits = all_logits({says ? static_cast<Device*>(&plain) : &reticent, cpu_});
      ASSERT_EQ(logits.size(), expected.size()) << memory;
      for (std::size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 1e-3);
    }
  }
  EXPECT_GT(moved, 0) << "this never happened";
}

}  // namespace
}  // namespace shunt::test::engine_fit_test
