// Models whose weights come to a device in another type give the text that the CPU gives, whatever
// memory the device has and whatever it says. The CPU is the real one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "graph/op.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_transcode_test {
namespace {

class EngineTranscode : public ::testing::Test {
 protected:
  EngineTranscode() {
    // The test compares the effect of the converted weights. At this level the CPU does not round
    // activations to 8 bits, which alone would move logits by a twentieth.
    Options options;
    options.backend_options["cpu"]["level"] = "scalar";
    auto registry = Registry::create(options);
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    cpu_ = registry_->devices().back();
  }

  static SynthOptions shape(DType dtype, bool tied = false) {
    SynthOptions options;
    options.layers = 3;
    options.vocabulary = 300;
    options.dtype = dtype;
    options.tied = tied;
    return options;
  }

  /// The session may be another one than the loader left room for.
  static EngineRun compute(const std::string& path, const std::vector<Device*>& devices,
                           const LoadOptions& more = {}, std::int64_t context = 32) {
    LoadOptions options = more;
    options.session = small_session();
    options.memory_margin = 0;
    auto run = run_engine(path, devices, options, context);
    EXPECT_TRUE(run) << run.error().message();
    return run ? std::move(*run) : EngineRun();
  }

  /// Logits of noise are of size 1. The CPU computes with activations in F32, see above.
  static void expect_same(const EngineRun& a, const EngineRun& b, double tolerance = 0.05) {
    ASSERT_EQ(a.logits.size(), 300U);
    ASSERT_EQ(b.logits.size(), 300U);
    for (std::size_t i = 0; i < 300; ++i) ASSERT_NEAR(a.logits[i], b.logits[i], tolerance) << i;
    EXPECT_EQ(a.tokens, b.tokens);
  }

  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
};

TEST_F(EngineTranscode, TextEqualsThatOfTheCpu) {
  struct Row {
    DType from, to;
  };
  for (const Row& row : {Row{DType::kQ8_0, DType::kF16}, Row{DType::kQ8_0, DType::kF32},
                         Row{DType::kQ4_0, DType::kQ8_0}, Row{DType::kQ4_0, DType::kF16},
                         Row{DType::kF16, DType::kF32}, Row{DType::kBF16, DType::kF32}}) {
    SCOPED_TRACE(fmt::format("{} as {}", to_string(row.from), to_string(row.to)));
    const SynthModel file(shape(row.from));
    const EngineRun alone = compute(file.path(), {cpu_});
    for (const bool all : {true, false}) {
      TestDeviceConfig config;
      if (!all) config.ops = {"matmul", "add"};
      config.wants_types[row.from] = row.to;
      TestDevice test(config);
      const EngineRun together = compute(file.path(), {&test, cpu_});
      expect_same(together, alone);
      ASSERT_NE(together.model, nullptr);
      EXPECT_EQ(together.model->transcoded().size(), all ? 23U : 22U);
      EXPECT_GT(test.computed(), 0U);
    }
  }
}

TEST_F(EngineTranscode, NoneFallsBackToTheCpu) {
  const SynthModel file(shape(DType::kQ8_0));
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kQ8_0, DType::kF16}}});
  std::vector<std::string> said;
  LoadOptions options;
  options.placement.transcode = Transcode::kNone;
  options.placement.fallback.log = [&](std::string_view line) { said.emplace_back(line); };
  const EngineRun together = compute(file.path(), {&test, cpu_}, options);
  expect_same(together, compute(file.path(), {cpu_}), 0);
  EXPECT_EQ(test.computed(), 0U);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], ::testing::HasSubstr("run on cpu0 instead of test0"));
}

TEST_F(EngineTranscode, LossyHasASmallLogitError) {
  const SynthModel file(shape(DType::kF32));
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kF32, DType::kQ8_0}}});
  LoadOptions options;
  options.placement.transcode = Transcode::kLossy;
  const EngineRun together = compute(file.path(), {&test, cpu_}, options);
  const EngineRun alone = compute(file.path(), {cpu_});
  ASSERT_EQ(together.logits.size(), alone.logits.size());
  double off = 0;
  double squares = 0;
  for (std::size_t i = 0; i < alone.logits.size(); ++i) {
    off += std::pow(together.logits[i] - alone.logits[i], 2);
    squares += std::pow(alone.logits[i], 2);
  }
  EXPECT_GT(off, 0);
  EXPECT_LT(off, 0.01 * squares);
  EXPECT_EQ(together.model->transcoded().size(), 22U);
}

TEST_F(EngineTranscode, TwoDevicesMayWantDifferentTypes) {
  const SynthModel file(shape(DType::kQ4_0));
  TestDevice first(
      {.name = "test0", .wants_types = {{DType::kQ4_0, DType::kF16}}, .memory = 250000});
  TestDevice second(
      {.name = "test1", .wants_types = {{DType::kQ4_0, DType::kQ8_0}}, .memory = 90000});
  const EngineRun together = compute(file.path(), {&first, &second, cpu_});
  expect_same(together, compute(file.path(), {cpu_}));
  std::set<std::pair<std::string, DType>> seen;
  for (const TranscodedWeight& weight : together.model->transcoded())
    seen.emplace(weight.device, weight.to);
  EXPECT_EQ(seen, (std::set<std::pair<std::string, DType>>{{"test0", DType::kF16},
                                                           {"test1", DType::kQ8_0}}));
  EXPECT_LT(together.model->transcoded().size(), 23U) << "the CPU has the rest";
}

TEST_F(EngineTranscode, TiedEmbeddingIsTranscodedPerUse) {
  const SynthModel file(shape(DType::kQ8_0, true));
  const EngineRun alone = compute(file.path(), {cpu_});
  const auto types_of = [](const EngineRun& computed) {
    std::map<std::string, DType> types;
    for (const TranscodedWeight& weight : computed.model->transcoded())
      types.emplace(weight.name, weight.to);
    return types;
  };
  TestDevice both({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  const EngineRun on_device = compute(file.path(), {&both, cpu_});
  expect_same(on_device, alone);
  EXPECT_EQ(types_of(on_device).count("output.weight"), 0U);
  EXPECT_EQ(types_of(on_device).at("token_embd.weight"), DType::kF16);
  EXPECT_EQ(types_of(on_device).size(), 22U);
  // The device can't pick rows: then it has the output in its type, and the CPU the embedding in
  // that of the file.
  TestDevice one({.ops = {"matmul"}, .wants_types = {{DType::kQ8_0, DType::kF16}}});
  const EngineRun apart = compute(file.path(), {&one, cpu_});
  expect_same(apart, alone);
  EXPECT_EQ(types_of(apart).at("output.weight"), DType::kF16);
  EXPECT_EQ(types_of(apart).count("token_embd.weight"), 0U);
  EXPECT_EQ(types_of(apart).size(), 22U);
  // The user pins the logits elsewhere: then the CPU has both in the file's type.
  LoadOptions options;
  options.placement.pins = {{"logits", "cpu0"}};
  const EngineRun on_cpu = compute(file.path(), {&one, cpu_}, options);
  expect_same(on_cpu, alone);
  EXPECT_EQ(types_of(on_cpu).size(), 21U);
  EXPECT_EQ(types_of(on_cpu).count("output.weight"), 0U);
  // The device could have both, but the user wants the rows (and all else without a name) from the
  // CPU: which then has no use for the device's type.
  options.placement.pins = {{"", "cpu0"}, {"logits", "test0"}};
  const EngineRun rows_on_cpu = compute(file.path(), {&both, cpu_}, options);
  expect_same(rows_on_cpu, alone);
  EXPECT_EQ(types_of(rows_on_cpu).at("output.weight"), DType::kF16);
  EXPECT_EQ(types_of(rows_on_cpu).count("token_embd.weight"), 0U);
}

TEST_F(EngineTranscode, DeviceThatLaterRejectsTheTypeKeepsTheText) {
  const SynthModel file(shape(DType::kQ8_0));
  const EngineRun alone = compute(file.path(), {cpu_});
  for (const int calls : {0, 30, 60, 200}) {  // until it says no to F16
    int count = 0;
    TestDeviceConfig config;
    config.wants_types = {{DType::kQ8_0, DType::kF16}};
    config.answer = [&](const Graph& graph, NodeId id) {
      const Node& node = graph.node(id);
      if (node.op->info().name != "matmul") return Support::yes();
      return count++ < calls ? Support::yes() : Support::no(Refusal::kType, "no F16 after all");
    };
    TestDevice test(config);
    expect_same(compute(file.path(), {&test, cpu_}), alone);
  }
}

TEST_F(EngineTranscode, DeviceOfAnyMemorySizeTranscodesWhatFits) {
  const SynthModel file(shape(DType::kQ8_0));
  const EngineRun alone = compute(file.path(), {cpu_});
  std::size_t most = 0;
  for (std::size_t memory = 0; memory <= 960000; memory += 80000) {
    SCOPED_TRACE(memory);
    TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}, .memory = memory});
    EngineRun together = compute(file.path(), {&test, cpu_});
    expect_same(together, alone);
    most = std::max(most, together.model->transcoded().size());
    together = {};
    EXPECT_EQ(test.allocated(), 0U);
  }
  EXPECT_EQ(most, 23U);
}

TEST_F(EngineTranscode, WeightThatMovesToTheCpuHasItsFileType) {
  const SynthModel file(shape(DType::kQ8_0));
  // A test device as the CPU has no mapped file: weights that are used from there are read again.
  TestDevice host({.name = "cpu1", .kind = DeviceKind::kCpu, .host_accessible = true});
  const EngineRun alone = compute(file.path(), {cpu_});
  for (Device* cpu : {cpu_, static_cast<Device*>(&host)}) {
    TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}, .memory = 600000});
    // Four times the context the loader knew of: its cache drives weights out.
    const EngineRun together = compute(file.path(), {&test, cpu}, {}, 512);
    expect_same(together, alone);
    EXPECT_GT(together.model->transcoded().size(), 0U);
    EXPECT_TRUE(cpu == cpu_ || together.session->ledger().bytes("cpu1", Purpose::kWeights) > 0);
  }
}

TEST_F(EngineTranscode, TextIsTheSameAfterAnyFailedAllocation) {
  const SynthModel file(shape(DType::kQ8_0));
  const EngineRun alone = compute(file.path(), {cpu_});
  for (std::size_t n = 1; n <= 8; ++n) {
    SCOPED_TRACE(n);
    TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}});
    TestFailures failures;
    failures.allocation = n;
    test.fail_at(failures);
    expect_same(compute(file.path(), {&test, cpu_}), alone);
  }
}

}  // namespace
}  // namespace shunt::test::engine_transcode_test
