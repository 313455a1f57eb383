// The options of the CANN backend: their effects in the twin's counts, and values that are refused.
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
  Counts run_network(const Network& network, int runs,
                     std::vector<double>* output = nullptr) const {
    const auto run = make_run(network.graph, network.leaves);
    if (run == nullptr) return {};
    const Counts before = counts();
    for (int i = 0; i < runs; ++i) EXPECT_EQ(error_of(run->plan().run()), "");
    const Counts after = counts();
    if (output != nullptr) *output = run->output(network.graph->outputs()[0]).value().data;
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
           {"nz", "1"},
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
  // One less than the calls of a run: none is kept.
  options.backend_options["cann"]["executors"] = std::to_string(made_anew.second / 5 - 1);
  reopen({}, options);
  EXPECT_EQ(run_network(network, 5).first, made_anew.first);
}

TEST_F(CannOptions, FuseLaunchesFewerOperators) {
  const Network network = gemma();
  reopen({}, with("graph", "off"));
  std::vector<double> fused_output, output;
  const Counts fused = run_network(network, 1, &fused_output);
  Options options = with("graph", "off");
  options.backend_options["cann"]["fuse"] = "off";
  reopen({}, options);
  const Counts apart = run_network(network, 1, &output);
  EXPECT_LT(fused.second, apart.second);
  ASSERT_EQ(fused_output.size(), output.size());
  for (std::size_t i = 0; i < output.size(); ++i) EXPECT_NEAR(fused_output[i], output[i], 1e-5);
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
  constexpr int kDeterministic = 0;  // ACL_OPT_DETERMINISTIC
  for (const char* word : {"repeat", "on", "off"}) {
    const bool on = std::string_view(word) != "off";
    reopen({}, with("deterministic", word));
    ASSERT_EQ(twin_.find<int(int)>("aclrtSetDevice")(0), 0);  // its default context, as the backend
    std::int64_t value = 0;
    const int found =
        twin_.find<int(int, std::int64_t*)>("aclrtCtxGetSysParamOpt")(kDeterministic, &value);
    EXPECT_EQ(twin_.find<int(int)>("aclrtResetDevice")(0), 0);
    if (on) {
      EXPECT_EQ(found, 0);
      EXPECT_EQ(value, 1);
    } else {
      EXPECT_EQ(found, 107021) << "the option was not set";
    }
  }
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
  EXPECT_EQ(device().rounding_error(*graph_, product_, {}), 0);
  reopen({}, with("matmul", "hf32"));
  const double hf32 = error();
  const double hf32_bound = device().rounding_error(*graph_, product_, {});
  reopen({}, with("matmul", "f16"));
  const double f16 = error();
  const double f16_bound = device().rounding_error(*graph_, product_, {});
  EXPECT_LT(f32, 1e-12);
  EXPECT_GT(hf32, f32);
  // A factor with p bits has a mean square error of 2^-2p / 3 at most: F16 has 11, HF32 12.
  EXPECT_LT(hf32, 2 * 0x1p-24 / 3);
  EXPECT_LT(f16, 2 * 0x1p-22 / 3);
  EXPECT_LT(hf32, f16 / 2);
  EXPECT_GE(hf32_bound, hf32);
  EXPECT_GE(f16_bound, f16);
  EXPECT_LT(hf32_bound, f16_bound);
  EXPECT_LT(f16_bound, 1e-6);
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
    EXPECT_LT(error(), 3 * 0x1p-22 / 3) << profile << ": two factors, and the result on a 310B";
  }
}

}  // namespace
}  // namespace shunt::test::cann_options_test
