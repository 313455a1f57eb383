// Attention by one operator: which operands it takes on each chip, by the twin's counts, and its
// results.
#include <gmock/gmock.h>

#include "backends/cann/cann_devices.h"
#include "support/networks.h"

namespace shunt::test::cann_fused_attention_test {
namespace {

struct AttentionSizes {
  std::int64_t head = 32, heads = 4, kv_heads = 4, tokens = 1, keys = 1, sequences = 1;
};

struct FusedCase {
  const char* name;
  const char* profile;
  AttentionSizes sizes;
  const char* called = nullptr;  ///< null: several operators compute it
  DType cache = DType::kF16;
  AttentionParams params = {.scale = 0.2F};
  const char* option = "fused";
  bool has_mask = false;
  const char* deterministic = "repeat";
};

constexpr const char* kGrouped = "aclnnFusedInferAttentionScoreV2";
constexpr const char* kOne = "aclnnIncreFlashAttentionV4";
constexpr const char* kMany = "aclnnPromptFlashAttentionV3";

Network network_of(const FusedCase& each) {
  const AttentionSizes& s = each.sizes;
  GraphBuilder g;
  const auto q = g.input("q", *make_tensor(DType::kF32, {s.head, s.heads, s.tokens, s.sequences}));
  const Shape cache = {s.head, s.kv_heads, s.keys, s.sequences};
  const auto k = g.cache("k", *make_tensor(each.cache, cache));
  const auto v = g.cache("v", *make_tensor(each.cache, cache));
  const auto mask =
      each.has_mask ? g.input("mask", *make_tensor(DType::kF32, {s.keys, s.tokens})) : absent();
  EXPECT_TRUE(g.output(attention(g, q, k, v, mask, each.params), "y"));
  return with_values(std::move(g).build());
}

class CannFusedAttention : public CannDevices, public testing::WithParamInterface<FusedCase> {
 protected:
  /// Computes it, and compares it with the reference.
  void expect_right(const FusedCase& each) {
    const Network network = network_of(each);
    const auto run = make_run(network.graph, network.leaves);
    ASSERT_NE(run, nullptr);
    ASSERT_EQ(error_of(run->plan().run()), "");
    const NodeId y = network.graph->outputs()[0];
    const double error = device().rounding_error(*network.graph, y);
    // The operators compute in F16. Without them only a 310B is coarser than F32. On a 310P the
    // sizes of each run decide.
    const bool coarse =
        each.called != nullptr || std::string_view(each.profile) == "310b" ||
        (std::string_view(each.profile) == "310p" && each.sizes.heads == each.sizes.kv_heads);
    EXPECT_EQ(error > 0, coarse);
    EXPECT_LT(error, 1e-5);
    EXPECT_LT(reference_error(*run, network), coarse ? error : 1e-6);
  }
};

TEST_P(CannFusedAttention, CallsTheOperatorOfTheChip) {
  const FusedCase& each = GetParam();
  Options options = with("attention", each.option);
  options.backend_options["cann"]["deterministic"] = each.deterministic;
  options.backend_options["cann"]["matmul"] =
      std::string_view(each.profile) == "910b" ? "f32" : "f16";
  reopen({{"PROFILE", each.profile}}, options);
  expect_right(each);
  for (const char* function : {kGrouped, kOne, kMany}) {
    const bool expected = each.called != nullptr && std::string_view(each.called) == function;
    EXPECT_EQ(twin_.calls(function), expected ? 1U : 0U) << function;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , CannFusedAttention,
    testing::Values(
        FusedCase{"AStepOnA910B", "910b", {.kv_heads = 2, .keys = 40}, kGrouped},
        FusedCase{"APromptOnA910B", "910b", {.kv_heads = 2, .tokens = 7, .keys = 40}, kGrouped},
        FusedCase{"SequencesOnA910B",
                  "910b",
                  {.kv_heads = 2, .tokens = 3, .keys = 40, .sequences = 2},
                  kGrouped},
        FusedCase{"OtherHeadSizes", "910b", {.head = 24, .keys = 40}},
        FusedCase{
            "TooManyHeadsForOneKey", "910b", {.head = 16, .heads = 65, .kv_heads = 1, .keys = 9}},
        FusedCase{"CachesOfF32", "910b", {.keys = 40}, nullptr, DType::kF32},
        FusedCase{"CachesOfBF16", "910b", {.keys = 40}, nullptr, DType::kBF16},
        FusedCase{
            "ASoftCap", "910b", {.keys = 40}, nullptr, DType::kF16, {.scale = 0.2F, .softcap = 5}},
        FusedCase{
            "AMask", "910b", {.keys = 40}, nullptr, DType::kF16, {.scale = 0.2F}, "fused", true},
        FusedCase{
            "SwitchedOff", "910b", {.keys = 40}, nullptr, DType::kF16, {.scale = 0.2F}, "composed"},
        FusedCase{"Deterministic",
                  "910b",
                  {.keys = 40},
                  nullptr,
                  DType::kF16,
                  {.scale = 0.2F},
                  "fused",
                  false,
                  "on"},
        FusedCase{"AStepOnA310P", "310p", {.keys = 40}, kOne},
        FusedCase{"APromptOnA310P", "310p", {.tokens = 7, .keys = 40}, kMany},
        FusedCase{"SequencesOnA310P", "310p", {.keys = 40, .sequences = 128}, kOne},
        FusedCase{"TooManySequencesOnA310P", "310p", {.keys = 4, .sequences = 129}},
        FusedCase{
            "PromptsOfSequencesOnA310P", "310p", {.tokens = 5, .keys = 40, .sequences = 3}, kMany},
        FusedCase{"MostKeysOnA310P",
                  "310p",
                  {.head = 16, .heads = 1, .kv_heads = 1, .keys = 65535},
                  kOne},
        FusedCase{
            "TooManyKeysOnA310P", "310p", {.head = 16, .heads = 1, .kv_heads = 1, .keys = 65536}},
        FusedCase{"SharedKeysOnA310P", "310p", {.kv_heads = 2, .keys = 40}},
        FusedCase{"AStepOnA310B", "310b", {.keys = 40}}),
    [](const auto& test) { return std::string(test.param.name); });

/// Libraries without the operator compute attention by others.
TEST(CannWithoutFusedAttention, SeveralOperatorsComputeIt) {
  AscendTwin twin({"aclnnFusedInferAttentionScoreV2GetWorkspaceSize"});
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CANN in this build";
  const auto registry = Registry::create(twin.options());
  ASSERT_TRUE(registry) << registry.error().message();
  const auto devices = (*registry)->select(std::vector<std::string>{"cann0", "cpu0"});
  ASSERT_TRUE(devices) << devices.error().message();
  const Network network = network_of({"", "910b", {.tokens = 3, .keys = 40}});
  const auto run = GraphRun::create(network.graph, *devices, network.leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ((*run)->plan().segments().front().device, 0U);
  const Status status = (*run)->plan().run();
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_LT(reference_error(**run, network), 1e-8);
}

}  // namespace
}  // namespace shunt::test::cann_fused_attention_test
