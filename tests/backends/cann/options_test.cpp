// The options of the CANN backend: each has an effect that the twin counts, and other values are
// refused.
#include <gmock/gmock.h>

#include <array>

#include "backends/cann/cann_devices.h"
#include "support/networks.h"
#include "support/sanitized.h"

namespace shunt::test::cann_options_test {
namespace {

using testing::HasSubstr;

class CannOptions : public CannDevices {
 protected:
  /// Counts of the twin.
  struct Counts {
    std::uint64_t first, second, captures, replays;
  };
  Counts counts() const {
    return {twin_.count(AscendCount::kFirstPhases), twin_.count(AscendCount::kSecondPhases),
            twin_.count(AscendCount::kCaptures), twin_.count(AscendCount::kReplays)};
  }
  Counts run_network(const Network& network, int runs) const {
    const auto run = make_run(network.graph, network.leaves);
    if (run == nullptr) return {};
    const Counts before = counts();
    for (int i = 0; i < runs; ++i) EXPECT_EQ(error_of(run->plan().run()), "");
    const Counts after = counts();
    return {after.first - before.first, after.second - before.second,
            after.captures - before.captures, after.replays - before.replays};
  }
};

TEST_F(CannOptions, OtherValuesAreRefused) {
  for (const auto& [option, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"deterministic", "1"},
           {"executors", "-1"},
           {"executors", "100001"},
           {"executors", "many"},
           {"fuse", "yes"},
           {"graph", ""},
           {"graphs", "0"},
           {"graphs", "257"},
           {"graphs", "1.5"},
           {"matmul", "bf16"},
           {"peers", "no"},
           {"prefill_graph", "1"},
           {"pinned", "true"},
           {"timeout", "0"},
           {"timeout", "-3"},
           {"timeout", "99999999999999999999"}}) {
    const auto registry = Registry::create(with(option, value));
    ASSERT_FALSE(registry) << option << "=" << value;
    EXPECT_EQ(registry.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(registry.error().message(), HasSubstr(std::string("cann.") + option));
  }
}

TEST_F(CannOptions, GraphCapturesRunsThatComeAgain) {
  const Network network = bert();
  const Counts on = run_network(network, 4);
  EXPECT_GE(on.captures, 1U);
  EXPECT_GE(on.replays, 3U);
  EXPECT_GT(device().info().dynamic_dim_granularity, 1);
  reopen({}, with("graph", "off"));
  const Counts off = run_network(network, 4);
  EXPECT_EQ(off.captures, 0U);
  EXPECT_EQ(off.replays, 0U);
  EXPECT_EQ(off.second, on.second * 2)
      << "of four runs, two are launched if the others are replays";
}

/// Two sizes take turns. With room for one graph each run is captured anew.
TEST_F(CannOptions, GraphsLimitsThoseThatAreKept) {
  GraphBuilder g;
  const Dim n = *g.dynamic_dim("n", 8);
  const auto x = g.input("x", *make_tensor(DType::kF32, {16, n}));
  const auto y = mul(g, add(g, x, x), x);
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const std::map<NodeId, RefTensor> leaves = {{x->id, make_values({.sizes = {16, 8, 1, 1}}, 1)}};
  std::uint64_t captures[2] = {};
  for (const int graphs : {0, 1}) {
    reopen({}, with("graphs", graphs == 0 ? "1" : "12"));
    const auto run = make_run(graph, leaves);
    ASSERT_NE(run, nullptr);
    const Counts before = counts();
    for (int i = 0; i < 12; ++i) {
      ASSERT_TRUE(run->plan().set_dynamic_dim(n, i % 2 == 0 ? 3 : 8));
      EXPECT_EQ(error_of(run->plan().run()), "");
    }
    captures[graphs] = counts().captures - before.captures;
    EXPECT_LE(twin_.live_models(), graphs == 0 ? 1U : 2U);
  }
  EXPECT_EQ(captures[1], 2U);
  EXPECT_EQ(captures[0], 10U);
}

TEST_F(CannOptions, ExecutorsKeepsThoseOfRunsThatAreNotCaptured) {
  const Network network = bert();
  Options options = with("graph", "off");
  reopen({}, options);
  const Counts kept = run_network(network, 5);
  options.backend_options["cann"]["executors"] = "0";
  reopen({}, options);
  const Counts made_anew = run_network(network, 5);
  EXPECT_EQ(kept.second, made_anew.second);
  EXPECT_EQ(made_anew.first, made_anew.second);
  EXPECT_EQ(kept.first * 5, kept.second * 2) << "the third run and later ones have no first phases";
}

TEST_F(CannOptions, FuseLaunchesFewerOperators) {
  const Network network = gemma();
  reopen({}, with("graph", "off"));
  const Counts fused = run_network(network, 1);
  Options options = with("graph", "off");
  options.backend_options["cann"]["fuse"] = "off";
  reopen({}, options);
  const Counts apart = run_network(network, 1);
  EXPECT_LT(fused.second, apart.second);
}

TEST_F(CannOptions, PinnedGivesStagingMemory) {
  const auto copies = [&] {
    const Rows rows;
    const auto run = make_run(rows.graph, rows.leaves);
    const auto before = twin_.count(AscendCount::kDrains);
    EXPECT_EQ(error_of(run->plan().run()), "");
    return twin_.count(AscendCount::kDrains) - before;
  };
  EXPECT_NE(device().staging_memory(), nullptr);
  EXPECT_EQ(copies(), 0U);
  reopen({}, with("pinned", "off"));
  EXPECT_EQ(device().staging_memory(), nullptr);
  EXPECT_GT(copies(), 0U) << "copies of pageable memory";
}

TEST_F(CannOptions, DeterministicIsSetForTheContext) {
  EXPECT_EQ(twin_.calls("aclrtCtxSetSysParamOpt"), 1U);
  reopen({}, with("deterministic", "off"));
  EXPECT_EQ(twin_.calls("aclrtCtxSetSysParamOpt"), 0U);
}

/// Steps of prompts have many columns, and seldom come again with the same sizes.
TEST_F(CannOptions, PrefillGraphCapturesStepsOfManyColumns) {
  GraphBuilder g;
  const Dim n = *g.dynamic_dim("n", 100);
  const auto w = g.weight("w", *make_tensor(DType::kF32, {16, 8}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {16, n}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const std::map<NodeId, RefTensor> leaves = {{w->id, make_values({.sizes = {16, 8, 1, 1}}, 1)},
                                              {x->id, make_values({.sizes = {16, 100, 1, 1}}, 2)}};
  for (const char* value : {"off", "on"}) {
    reopen({}, with("prefill_graph", value));
    const auto run = make_run(graph, leaves);
    ASSERT_NE(run, nullptr);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(error_of(run->plan().run()), "");
    EXPECT_EQ(counts().captures, std::string_view(value) == "on" ? 1U : 0U);
    ASSERT_TRUE(run->plan().set_dynamic_dim(n, 4));
    const auto captures = counts().captures;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(error_of(run->plan().run()), "");
    EXPECT_EQ(counts().captures, captures + 1) << "few columns are captured";
  }
}

TEST_F(CannOptions, PeersCopyDirectlyWhereBothCan) {
  for (const bool twin_has : {true, false}) {
    for (const char* option : {"on", "off"}) {
      reopen({{"DEVICES", "2"}, {"PEERS", twin_has ? "on" : "off"}}, with("peers", option));
      Device& from = device("cann0");
      Device& to = device("cann1");
      const bool expected = twin_has && std::string_view(option) == "on";
      EXPECT_EQ(to.can_copy_from(from.memory()), expected);
      EXPECT_EQ(from.can_copy_from(to.memory()), expected);
      EXPECT_FALSE(to.can_copy_from(to.memory()));
      if (!expected) continue;
      const auto source = from.memory().allocate(100), target = to.memory().allocate(100);
      ASSERT_TRUE(source && target);
      ASSERT_TRUE((*source)->fill(0, 100, std::byte{3}));
      const auto stream = to.open_stream();
      ASSERT_TRUE(stream);
      ASSERT_TRUE((*stream)->copy({target->get(), 0}, {source->get(), 0}, 100, {}, nullptr));
      EXPECT_EQ(error_of((*stream)->synchronize()), "");
      std::array<std::byte, 2> bytes = {};
      ASSERT_TRUE((*target)->read(98, bytes));
      EXPECT_EQ(bytes[1], std::byte{3});
    }
  }
}

/// A product of F32, and its error against the reference.
class CannProducts : public CannOptions {
 protected:
  CannProducts() {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 32}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
    const auto y = matmul(g, w, x);
    product_ = y->id;
    EXPECT_TRUE(g.output(y, "y"));
    graph_ = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    leaves_[w->id] = make_values({.sizes = {64, 32, 1, 1}}, 1);
    leaves_[x->id] = make_values({.sizes = {64, 5, 1, 1}}, 2);
    expected_ = RefTensor(Sizes{32, 5, 1, 1});
    for (std::size_t column = 0; column < 5; ++column) {
      for (std::size_t row = 0; row < 32; ++row) {
        double sum = 0;
        for (std::size_t k = 0; k < 64; ++k)
          sum += leaves_[w->id].data[row * 64 + k] * leaves_[x->id].data[column * 64 + k];
        expected_.data[column * 32 + row] = sum;
      }
    }
  }
  double error() const {
    const auto run = make_run(graph_, leaves_);
    EXPECT_EQ(error_of(run->plan().run()), "");
    return nmse(*run->output(product_), expected_);
  }

  std::shared_ptr<const Graph> graph_;
  NodeId product_ = 0;
  std::map<NodeId, RefTensor> leaves_;
  RefTensor expected_;
};

TEST_F(CannProducts, MatmulGivesTheNumbersOfF32Products) {
  const double f32 = error();
  reopen({}, with("matmul", "hf32"));
  const double hf32 = error();
  EXPECT_GT(device().rounding_error(*graph_, product_, {}), 0);
  reopen({}, with("matmul", "f16"));
  const double f16 = error();
  EXPECT_LT(f32, 1e-12);
  EXPECT_GT(hf32, f32);
  EXPECT_GT(f16, f32);
  EXPECT_LT(hf32, 1e-5);
  EXPECT_LT(f16, 1e-5);
}

/// A weight may come as F16. Two activations are multiplied as F16 only if the user says so.
TEST_F(CannProducts, ChipsWithoutF32ProductsNameTheOption) {
  GraphBuilder g;
  const auto a = g.input("a", *make_tensor(DType::kF32, {64, 32}));
  const auto b = g.input("b", *make_tensor(DType::kF32, {64, 5}));
  const auto y = matmul(g, a, b);
  ASSERT_TRUE(g.output(y, "y"));
  const Graph of_inputs = std::move(*std::move(g).build());
  for (const char* profile : {"310p", "310b"}) {
    reopen({{"PROFILE", profile}});
    const Support refused = device().supports(of_inputs, y->id);
    EXPECT_TRUE(refused.refused()) << profile;
    EXPECT_THAT(refused.facts(), HasSubstr("--set cann.matmul=f16"));
    const Support converted = device().supports(*graph_, product_);
    EXPECT_EQ(converted.converted_source(), 0) << profile;
    EXPECT_EQ(converted.converted_dtype(), DType::kF16) << profile;
    reopen({}, with("matmul", "f16"));
    EXPECT_TRUE(device().supports(of_inputs, y->id)) << profile;
    EXPECT_TRUE(device().supports(*graph_, product_)) << profile;
    EXPECT_LT(error(), 1e-5) << profile;
  }
}

}  // namespace
}  // namespace shunt::test::cann_options_test
