// Devices that need the number of cache rows rounded up, so that captured graphs can be replayed.
// Also the memory that devices take for themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/aligned_bytes.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/test_accelerator.h"
#include "support/test_device.h"

namespace shunt::test::engine_granularity_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::int64_t kContext = 40;
constexpr std::int64_t kTokens = 24;

/// Heads of 32 elements: a block of a quantized cache.
SynthOptions shape() {
  SynthOptions options = tiny_shape();
  options.width = 64;
  return options;
}

class Granularity : public ::testing::Test {
 protected:
  Granularity() : registry_(std::move(*Registry::create({}))), cpu_(registry_->devices().back()) {}

  /// The logits of kTokens steps of one token each.
  std::vector<std::vector<float>> decode(std::vector<Device*> devices, DType cache = DType::kF32) {
    devices.push_back(cpu_);
    LoadOptions options;
    options.session = {.context = kContext, .cache_type = cache, .batch = 1};
    options.memory_margin = 0;
    options.placement.rules_only = true;
    const auto model = Model::load(file_.path(), devices, options);
    EXPECT_TRUE(model) << model.error().message();
    if (!model) return {};
    const auto session = Session::create(*model, options.session);
    EXPECT_TRUE(session) << session.error().message();
    if (!session) return {};
    ledger_ = (*model)->ledger();
    ledger_.add((*session)->ledger());
    predicted_ = (*model)->predicted();
    notes_ = (*model)->notes();
    std::vector<std::vector<float>> all;
    for (std::int32_t token = 0; token < kTokens; ++token) {
      const std::array<std::int32_t, 1> next = {token * 7 % 100};
      const auto logits = (*session)->append(next);
      EXPECT_TRUE(logits) << logits.error().message();
      if (!logits) break;
      all.emplace_back(logits->begin(), logits->end());
    }
    return all;
  }

  /// How many graphs an accelerator captures.
  std::size_t captures(std::int64_t granularity) {
    TestAccelerator accelerator({.graphs = 1000, .granularity = granularity});
    decode({&accelerator});
    return accelerator.graphs.misses;
  }

  SynthModel file_{shape()};
  std::unique_ptr<Registry> registry_;
  Device* cpu_;
  Ledger ledger_;
  Ledger predicted_;
  std::vector<std::string> notes_;
};

TEST_F(Granularity, GraphsAreCapturedOncePerRoundedNumberOfRows) {
  const std::size_t each = captures(1);
  ASSERT_GT(each, 0U);
  ASSERT_EQ(each % kTokens, 0U);
  const std::size_t segments = each / kTokens;
  EXPECT_EQ(captures(8), 3 * segments);     // 8, 16 and 24 rows
  EXPECT_EQ(captures(7), 4 * segments);     // 7, 14, 21 and 28
  EXPECT_EQ(captures(30), segments);        // 30
  EXPECT_EQ(captures(kContext), segments);  // all that there are
  EXPECT_EQ(captures(1 << 30), segments);   // no more than there are
  EXPECT_EQ(captures(0), each);             // makes no sense, and asks for nothing
  EXPECT_EQ(captures(-8), each);
}

TEST_F(Granularity, TwoDevicesRoundToACommonMultiple) {
  const auto captures_of_first = [&](std::int64_t first, std::int64_t second) {
    TestAccelerator one({.ops = {"matmul"}, .graphs = 1000, .granularity = first});
    TestAccelerator other({.name = "accel1", .graphs = 1000, .granularity = second});
    decode({&one, &other});
    return one.graphs.misses;
  };
  const std::size_t each = captures_of_first(1, 1);
  ASSERT_GT(each, 0U);
  EXPECT_EQ(captures_of_first(4, 6), each / 12);  // 12 and 24 rows
}

/// Memory of a test device is full of NaN at first. The rows that a mask hides must not be NaN.
TEST_F(Granularity, UnwrittenCacheRowsDoNotChangeLogits) {
  for (const DType cache : {DType::kF32, DType::kF16, DType::kQ8_0}) {
    TestDevice plain(TestDeviceConfig{});
    TestDevice rounding(TestDeviceConfig{.dynamic_dim_granularity = 16});
    const auto expected = decode({&plain}, cache);
    EXPECT_GT(plain.computed(), 0U);
    EXPECT_EQ(decode({&rounding}, cache), expected) << to_string(cache);
  }
}

/// A failed step leaves NaN in the caches. A shorter prompt hides those rows.
TEST_F(Granularity, RowsOfAFailedStepDoNotChangeLogits) {
  bool poison = false;
  std::size_t launches = 0;
  TestDeviceConfig config = {.dynamic_dim_granularity = 16};
  config.wrong["matmul"] = [&](RefTensor& result) {
    if (!poison) return;
    for (double& value : result.data) value = std::numeric_limits<double>::quiet_NaN();
  };
  TestDevice device(config);
  device.on_launch = [&](NodeId) { ++launches; };
  const std::vector<Device*> devices = {&device, cpu_};
  LoadOptions options;
  options.session = {.context = kContext, .cache_type = DType::kF32};
  options.placement.rules_only = true;
  options.on_device_error.mode = DeviceErrorMode::kFail;
  const auto model = Model::load(file_.path(), devices, options);
  ASSERT_TRUE(model) << model.error().message();
  const auto session = Session::create(*model, options.session);
  ASSERT_TRUE(session) << session.error().message();
  const std::vector<std::int32_t> shorter = {5, 6, 7};
  const std::vector<std::int32_t> longer(20, 9);
  const auto logits = (*session)->append(shorter);
  ASSERT_TRUE(logits) << logits.error().message();
  const std::vector<float> wanted(logits->begin(), logits->end());
  ASSERT_TRUE((*session)->truncate(0));
  const std::size_t in_a_step = launches;
  poison = true;
  device.fail_at({.launch = in_a_step});  // the last: all rows have been written
  ASSERT_FALSE((*session)->append(longer));
  poison = false;
  const auto again = (*session)->append(shorter);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(std::vector<float>(again->begin(), again->end()), wanted);
}

TEST_F(Granularity, OwnMemoryOfADeviceIsOnTheLedger) {
  constexpr OwnMemory kOwn = {.context = 1000, .code = 200, .workspace = 30, .graphs = 4};
  TestDevice device(TestDeviceConfig{.own_memory = kOwn});
  decode({&device});
  for (const Ledger& ledger : {ledger_, predicted_}) {
    EXPECT_EQ(ledger.bytes("test0", Purpose::kContext), 1000U);
    EXPECT_EQ(ledger.bytes("test0", Purpose::kCode), 200U);
    EXPECT_EQ(ledger.bytes("test0", Purpose::kWorkspace), 30U);
    EXPECT_EQ(ledger.bytes("test0", Purpose::kGraphs), 4U);
  }
  EXPECT_EQ(ledger_.in_buffers(), predicted_.in_buffers());
  EXPECT_THAT(notes_,
              Contains(HasSubstr("the device itself takes 1.2 KiB (context 1000 bytes, code "
                                 "200 bytes, workspace 30 bytes, graphs 4 bytes)")));
}

TEST_F(Granularity, ScratchOfTheCpusThreadsIsOnTheLedger) {
  Options options;
  options.threads = 2;
  auto registry = Registry::create(options);
  ASSERT_TRUE(registry) << registry.error().message();
  Device& cpu = *(*registry)->devices().back();
  EXPECT_EQ(cpu.own_memory().workspace, 0U);
  LoadOptions load;
  load.session = {.context = kContext, .cache_type = DType::kF32};
  const auto model = Model::load(file_.path(), std::vector<Device*>{&cpu}, load);
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ((*model)->ledger().bytes("cpu0", Purpose::kWorkspace), 0U) << "no plan yet";
  const auto session = Session::create(*model, load.session);
  ASSERT_TRUE(session) << session.error().message();
  const std::uint64_t workspace = (*model)->ledger().bytes("cpu0", Purpose::kWorkspace);
  EXPECT_GE(workspace, 2 * page_size());
  EXPECT_EQ(workspace % (2 * page_size()), 0U) << "whole pages for each of 2 threads";
  EXPECT_EQ(workspace, cpu.own_memory().workspace);
}

}  // namespace
}  // namespace shunt::test::engine_granularity_test
