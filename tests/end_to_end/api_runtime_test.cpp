// Runtime and Executable: results against formulas, and each misuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "graph/storage_users.h"
#include "shunt/shunt.h"
#include "test_paths.h"

namespace shunt::test::api_runtime_test {
namespace {

constexpr float kNumbers[] = {1, 2, 3, -1, 0, 1};

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string message(const Status& status) {
  return status ? "" : status.error().message();
}

Runtime runtime() {
  auto created = Runtime::create(Options());
  EXPECT_TRUE(created) << created.error().message();
  return *created;
}

/// y = silu(w x), with w = [1 2 3; -1 0 1].
Executable example() {
  Builder g;
  const Expr w = g.weight<float>("w", {3, 2}, {1, 2, 3, -1, 0, 1});
  const Expr x = g.input<float>("x", {3});
  auto compiled = runtime().compile(std::move(g).output("y", silu(matmul(w, x))));
  EXPECT_TRUE(compiled) << compiled.error().message();
  return std::move(*compiled);
}

float silu_of(float x) {
  return x / (1 + std::exp(-x));
}

TEST(Executable, ComputesTheFormula) {
  Executable y = example();  // the runtime is gone already
  for (const float scale : {1.0F, -2.0F}) {
    const std::span<float> x = y.input<float>("x");
    ASSERT_EQ(x.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) x[i] = scale * static_cast<float>(i);
    const Status done = y.run();
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_THAT(y.output<float>("y"), ElementsAre(FloatNear(silu_of(8 * scale), 1e-5F),
                                                  FloatNear(silu_of(2 * scale), 1e-5F)));
  }
  EXPECT_THAT(y.explain(), HasSubstr("y (silu) runs on cpu0: "));
}

TEST(Executable, InputsStartAsZerosAndPersistAcrossRuns) {
  Executable y = example();
  ASSERT_TRUE(y.run());
  EXPECT_THAT(y.output<float>("y"), ElementsAre(0, 0));
  y.input<float>("x")[2] = 1;
  ASSERT_TRUE(y.run());
  y.input<float>("x")[0] = 1;
  ASSERT_TRUE(y.run());
  EXPECT_THAT(y.output<float>("y"), ElementsAre(FloatNear(silu_of(4), 1e-5F), FloatNear(0, 1e-5F)));
}

TEST(Executable, WrongNameOrTypeFailsTheNextRun) {
  Executable y = example();
  EXPECT_THAT(y.input<float>("z"), IsEmpty());
  Status status = y.run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(status.error().message(), "no input \"z\" (there are: x)");
  EXPECT_TRUE(y.run()) << "once";

  EXPECT_THAT(y.input<std::int32_t>("x"), IsEmpty());
  EXPECT_THAT(y.output<float>("x"), IsEmpty());  // the second misuse
  status = y.run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "input \"x\" is F32 [3], not I32");

  EXPECT_THAT(y.output<double>("y"), IsEmpty());
  EXPECT_THAT(y.run().error().message(), HasSubstr("output \"y\" is F32 [2], not F64"));
  EXPECT_THAT(y.output<float>("w"), IsEmpty());
  EXPECT_EQ(y.run().error().message(), "no output \"w\" (there are: y)");
}

TEST(Executable, OutputIsEmptyBeforeTheFirstRunAndAfterAFailedOne) {
  Executable y = example();
  EXPECT_THAT(y.output<float>("y"), IsEmpty());
  EXPECT_THAT(y.run().error().message(), HasSubstr("before a run"));
  ASSERT_TRUE(y.run());
  EXPECT_EQ(y.output<float>("y").size(), 2U);
  const std::atomic<bool> cancel = true;
  const Status cancelled = y.run(&cancel);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
  EXPECT_THAT(y.output<float>("y"), IsEmpty());
}

TEST(Executable, DynamicDimensionsAreSetByName) {
  Builder g;
  const Dim n = g.dynamic_dim("n", 4);
  const Expr x = g.input<float>("x", {2, n});
  auto compiled = runtime().compile(std::move(g).output("y", sum_rows(x)));
  ASSERT_TRUE(compiled) << compiled.error().message();
  Executable& y = *compiled;
  ASSERT_TRUE(y.set_dynamic_dim("n", 3));
  std::ranges::fill(y.input<float>("x"), 2.0F);
  ASSERT_TRUE(y.run());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(y.output<float>("y")[i], 4);
  for (const std::int64_t wrong : {-1, 5}) {
    const Status refused = y.set_dynamic_dim("n", wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(y.set_dynamic_dim("m", 1).error().message(),
            "no dynamic dimension \"m\" (there are: n)");
  EXPECT_EQ(example().set_dynamic_dim("m", 1).error().message(),
            "no dynamic dimension \"m\" (there are: none)");
}

TEST(Executable, TensorsOfOtherTypesAreAccessedAsBytes) {
  Builder g;
  const Expr x = g.input("x", DType::kF16, {4});
  auto compiled = runtime().compile(std::move(g).output("y", neg(x)));
  ASSERT_TRUE(compiled) << compiled.error().message();
  const auto bytes = compiled->input_bytes("x");
  ASSERT_EQ(bytes.size(), 8U);
  const std::array<std::uint16_t, 4> ones = {0x3c00, 0x3c00, 0x3c00, 0x3c00};
  std::ranges::copy(std::as_bytes(std::span(ones)), bytes.begin());
  ASSERT_TRUE(compiled->run());
  const auto out = compiled->output_bytes("y");
  ASSERT_EQ(out.size(), 8U);
  const auto* numbers = reinterpret_cast<const std::uint16_t*>(out.data());
  EXPECT_THAT(std::span(numbers, 4), ElementsAre(0xbc00, 0xbc00, 0xbc00, 0xbc00));
}

TEST(Executable, WeightsMayBeQuantizedAndDimensionsZero) {
  Builder g;
  // Q8_0: a scale in F16 (1.0) and 32 numbers.
  std::array<std::byte, 34> block = {};
  block[0] = std::byte{0x00};
  block[1] = std::byte{0x3c};
  for (std::size_t i = 0; i < 32; ++i) block[2 + i] = std::byte{2};
  const Expr w = g.weight("w", DType::kQ8_0, {32, 1}, block);
  const Expr x = g.input<float>("x", {32});
  const Expr none = g.weight<float>("none", {0}, std::span<const float>());
  auto compiled = runtime().compile(std::move(g).output("y", matmul(w, x)).output("z", neg(none)));
  ASSERT_TRUE(compiled) << compiled.error().message();
  std::ranges::fill(compiled->input<float>("x"), 1.0F);
  ASSERT_TRUE(compiled->run());
  EXPECT_THAT(compiled->output<float>("y"), ElementsAre(FloatNear(64, 0.5F)));
  EXPECT_THAT(compiled->output<float>("z"), IsEmpty());
}

TEST(Executable, AMovedFromOneIsAnError) {
  Executable y = example();
  Executable other = std::move(y);
  EXPECT_THAT(y.input<float>("x"), IsEmpty());
  EXPECT_THAT(y.output<float>("y"), IsEmpty());
  EXPECT_FALSE(y.run());
  EXPECT_FALSE(y.set_dynamic_dim("n", 1));
  EXPECT_EQ(y.explain(), "");
  EXPECT_TRUE(other.run());
  other = example();
  EXPECT_TRUE(other.run());
}

/// Weights go to the memory of an accelerator, out of the host's reach; pins override that.
TEST(Runtime, WeightsAreWhereTheirOpsRun) {
  Options options;
  options.backend_path = SHUNT_TEST_ACCELERATOR_PLUGINS;
  const std::array<std::string, 1> names = {"accel0"};
  const auto created = Runtime::create(options, names);
  ASSERT_TRUE(created) << created.error().message();
  ASSERT_EQ(created->devices().size(), 2U);
  for (const char* home : {"accel0", "cpu0"}) {
    Builder g;
    const Expr w = g.weight<float>("w", {3, 2}, {1, 2, 3, -1, 0, 1});
    const Expr x = g.input<float>("x", {3});
    g.output("y", matmul(w, x));
    const Pin pins[] = {{"y", home, {}}};
    auto compiled = created->compile(std::move(g), {.pins = pins, .transcode = Transcode::kLossy});
    ASSERT_TRUE(compiled) << compiled.error().message();
    EXPECT_THAT(compiled->explain(), HasSubstr(std::string("y (matmul) runs on ") + home));
    std::size_t sent = 0;  // weights that a step copies
    for (const Segment& segment : compiled->plan().segments()) {
      for (const Transfer& transfer : segment.transfers)
        sent += is_weight(compiled->plan().graph().node(transfer.node).role) ? 1 : 0;
    }
    EXPECT_EQ(sent, 0U) << home;
    for (int run = 0; run < 2; ++run) {
      for (std::size_t i = 0; i < 3; ++i)
        compiled->input<float>("x")[i] = static_cast<float>(i) + static_cast<float>(run);
      ASSERT_TRUE(compiled->run());
      EXPECT_THAT(compiled->output<float>("y"), run == 0 ? ElementsAre(8, 2) : ElementsAre(14, 2));
    }
  }
}

TEST(Runtime, RejectsAGraphWithoutOutputs) {
  Builder g;
  (void)g.input<float>("x", {4});
  const auto compiled = runtime().compile(std::move(g));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(compiled.error().message(), HasSubstr("without outputs"));
}

TEST(Runtime, SelectsDevicesByName) {
  const std::array<std::string, 1> known = {"cpu0"};
  const auto created = Runtime::create(Options(), known);
  ASSERT_TRUE(created) << created.error().message();
  ASSERT_EQ(created->devices().size(), 1U);
  EXPECT_EQ(created->devices().front()->name(), "cpu0");
  const std::array<std::string, 1> unknown = {"gpu7"};
  const auto refused = Runtime::create(Options(), unknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(refused.error().message(), HasSubstr("gpu7"));
}

TEST(Runtime, InvalidOptionsAreErrors) {
  Options options;
  options.backend_options["cpu"]["level"] = "no such level";
  const auto refused = Runtime::create(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("no such level"));
}

TEST(Runtime, PinsAreFollowedOrAnError) {
  for (const char* device : {"cpu0", "gpu7"}) {
    Builder g;
    const Expr x = g.input<float>("x", {4});
    g.output("y", silu(x));
    const Pin pins[] = {{"y", device, {}}};
    const auto compiled = runtime().compile(std::move(g), {.pins = pins});
    EXPECT_EQ(compiled.has_value(), std::string_view(device) == "cpu0");
    if (!compiled) {
      EXPECT_THAT(compiled.error().message(), HasSubstr("gpu7"));
    }
  }
}

TEST(Builder, FailedValueCarriesTheErrorWithOpAndShapes) {
  Builder g;
  const Expr w = g.weight<float>("w", {3, 2}, kNumbers);
  const Expr x = g.input<float>("x", {4});
  const Expr y = silu(matmul(w, x));
  ASSERT_FALSE(y);
  for (const char* fact : {"matmul", "w F32 [3, 2]", "x F32 [4]"})
    EXPECT_THAT(y.error().message(), HasSubstr(fact));
  // A later error does not replace it.
  g.output("y", y).output("z", matmul(x, w));
  EXPECT_EQ(message(g.status()), y.error().message());
  const auto runtime = Runtime::create(Options());
  ASSERT_TRUE(runtime);
  const auto compiled = runtime->compile(std::move(g));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().message(), y.error().message());
}

TEST(Builder, RejectsNodesAfterCompile) {
  const auto runtime = Runtime::create(Options());
  ASSERT_TRUE(runtime);
  Builder g;
  const Expr x = g.input<float>("x", {4});
  g.output("y", silu(x));
  Builder same = g;
  ASSERT_TRUE(runtime->compile(std::move(g)));
  EXPECT_THAT(silu(x).error().message(), HasSubstr("has been compiled"));
  EXPECT_FALSE(same.input<float>("z", {4}));
  const auto again = runtime->compile(std::move(same));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr("has been compiled"));
}

TEST(Builder, CallsAfterCompilingAreErrors) {
  const auto runtime = Runtime::create(Options());
  ASSERT_TRUE(runtime);
  Builder g;
  g.output("y", silu(g.input<float>("x", {4})));
  ASSERT_TRUE(runtime->compile(std::move(g)));
  EXPECT_THAT(g.input<float>("z", {4}).error().message(), HasSubstr("has been compiled"));
  EXPECT_EQ(g.dynamic_dim("n", 4), Dim(0));
  EXPECT_THAT(message(g.status()), HasSubstr("has been compiled"));
  // Moving a builder leaves it as it was.
  Builder h;
  const Builder moved = std::move(h);
  EXPECT_TRUE(h.input<float>("x", {4}));
}

}  // namespace
}  // namespace shunt::test::api_runtime_test
