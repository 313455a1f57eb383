// Recurrences by hand.
#include <cmath>
#include <numbers>
#include <numeric>

#include "unit/ops/values.h"

namespace shunt::ops_state_test {
namespace {

using testing::ElementsAre;

using BuildRecurrence = std::function<Result<Recurrence>(GraphBuilder&, const Values&)>;

struct Both {
  RefTensor outputs;
  RefTensor states;
};

Both walk(const std::vector<Leaf>& leaves, const BuildRecurrence& build) {
  const auto part = [&](Value Recurrence::*which) {
    return evaluate(leaves, [&](GraphBuilder& g, const Values& v) -> Result<Value> {
      const auto made = build(g, v);
      if (!made) return Error(made.error());
      return cont(g, (*made).*which);  // so that it is the last node
    });
  };
  return {part(&Recurrence::outputs), part(&Recurrence::states)};
}

Result<Recurrence> conv(GraphBuilder& g, const Values& v) {
  return ssm_conv(g, v[0], v[1], v[2], v.size() > 3 ? v[3] : absent());
}
Result<Recurrence> scan(GraphBuilder& g, const Values& v) {
  return ssm_scan(g, v[0], v[1], v[2], v[3], v[4], v[5], v.size() > 6 ? v[6] : absent());
}
Result<Recurrence> wkv6(GraphBuilder& g, const Values& v) {
  return rwkv_wkv6(g, v[0], v[1], v[2], v[3], v[4], v[5]);
}
Result<Recurrence> wkv7(GraphBuilder& g, const Values& v) {
  return rwkv_wkv7(g, v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
}
Result<Recurrence> gla(GraphBuilder& g, const Values& v) {
  return gated_linear_attn(g, v[0], v[1], v[2], v[3], v[4], absent(), {.scale = 0.5F});
}
Result<Recurrence> delta(GraphBuilder& g, const Values& v) {
  return gated_delta_net(g, v[0], v[1], v[2], v[3], v[4], v[5], absent(), {.scale = 0.5F});
}

Leaf row(std::vector<double> data) {
  const auto size = static_cast<std::int64_t>(data.size());
  return {.sizes = {size, 1, 1, 1}, .data = std::move(data)};
}

TEST(SsmConv, ConvolvesTheStateAndPreviousTokens) {
  const auto y = walk({{.sizes = {1, 2, 1, 1}, .data = {2, 3}},
                       row({1, 10, 100}),
                       {.sizes = {1, 2, 1, 1}, .data = {5, 7}}},
                      conv);
  EXPECT_EQ(y.outputs.sizes, (Sizes{1, 2, 1, 1}));
  EXPECT_THAT(y.outputs.data, ElementsAre(5 + 70 + 200, 7 + 20 + 300));
  EXPECT_EQ(y.states.sizes, (Sizes{1, 2, 1, 1}));
  EXPECT_THAT(y.states.data, ElementsAre(2, 3));
}

TEST(SsmConv, KeepsTheNeededTailOfTheOldState) {
  const auto y = walk({row({2}), row({1, 10, 100}), {.sizes = {1, 2, 1, 1}, .data = {5, 7}}}, conv);
  EXPECT_THAT(y.outputs.data, ElementsAre(275));
  EXPECT_THAT(y.states.data, ElementsAre(7, 2));
}

TEST(SsmConv, HasTapsForEachChannel) {
  const auto y =
      walk({row({1, 2}), {.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}}, row({10, 20})}, conv);
  EXPECT_THAT(y.outputs.data, ElementsAre(10 + 2, 60 + 8));
  EXPECT_THAT(y.states.data, ElementsAre(1, 2));
}

TEST(SsmConv, SelectsStatesById) {
  const auto y = walk({{.sizes = {1, 1, 2, 1}, .data = {1, 2}},
                       row({1, 100}),
                       {.sizes = {1, 1, 3, 1}, .data = {7, 8, 9}},
                       {DType::kI32, {2, 1, 1, 1}, {2, 0}}},
                      conv);
  EXPECT_EQ(y.outputs.sizes, (Sizes{1, 1, 2, 1}));
  EXPECT_THAT(y.outputs.data, ElementsAre(109, 207));
  EXPECT_EQ(y.states.sizes, (Sizes{1, 1, 2, 1}));
  EXPECT_THAT(y.states.data, ElementsAre(1, 2));
}

TEST(SsmConv, TakesSequencesOfDifferentLengths) {
  const auto y = walk({{.sizes = {1, 4, 1, 1}, .data = {1, 2, 3, 4}},
                       row({1, 100}),
                       {.sizes = {1, 1, 3, 1}, .data = {7, 8, 9}},
                       {DType::kI32, {3, 1, 1, 1}, {2, 2, 3}}},
                      [](GraphBuilder& g, const Values& v) {
                        return ssm_conv(g, v[0], v[1], v[2], absent(), v[3]);
                      });
  EXPECT_EQ(y.outputs.sizes, (Sizes{1, 4, 1, 1}));
  EXPECT_THAT(y.outputs.data, ElementsAre(107, 201, 309, 0));
  EXPECT_EQ(y.states.sizes, (Sizes{1, 1, 3, 1}));
  EXPECT_THAT(y.states.data, ElementsAre(2, 8, 3));
}

constexpr double kLn2 = std::numbers::ln2;

TEST(SsmScan, DecaysUpdatesAndReadsTheState) {
  // dt 0 is a step of ln(1 + 1), in which a of -1 halves.
  const auto y =
      walk({row({3}), row({0}), row({-1}), row({1, 2}), row({1, 10}), row({4, 8})}, scan);
  EXPECT_THAT(y.states.data, is_near({2 + 3 * kLn2, 4 + 6 * kLn2}));
  EXPECT_THAT(y.outputs.data, is_near({42 + 63 * kLn2}));
}

TEST(SsmScan, HasADecayForEachElementInMamba1) {
  const auto y =
      walk({row({0}), row({0}), row({-1, -2}), row({1, 2}), row({1, 10}), row({4, 8})}, scan);
  EXPECT_THAT(y.states.data, is_near({2, 2}));
  EXPECT_THAT(y.outputs.data, is_near({22}));
}

TEST(SsmScan, SharesBAndCInGroupsOfHeads) {
  const auto y = walk({{.sizes = {1, 4, 1, 1}, .data = {1, 1, 1, 1}},
                       {.sizes = {4, 1, 1, 1}, .data = {0, 0, 0, 0}},
                       {.sizes = {1, 4, 1, 1}, .data = {-1, -1, -1, -1}},
                       {.sizes = {1, 2, 1, 1}, .data = {1, 10}},
                       {.sizes = {1, 2, 1, 1}, .data = {1, 3}},
                       {.sizes = {1, 1, 4, 1}, .data = {0, 0, 0, 0}}},
                      scan);
  EXPECT_EQ(y.outputs.sizes, (Sizes{1, 4, 1, 1}));
  EXPECT_THAT(y.outputs.data, is_near({kLn2, kLn2, 30 * kLn2, 30 * kLn2}));
}

TEST(SsmScan, SoftplusDoesNotOverflow) {
  const auto y = walk({row({1}), row({1000}), row({0}), row({1}), row({1}), row({0})}, scan);
  EXPECT_TRUE(y.outputs.data == std::vector<double>{1000}) << y.outputs.data[0];
}

TEST(RwkvWkv6, ReadsTheOldStateAndAddsTheTokenBonus) {
  const auto y = walk({row({1, 10}),
                       row({0.5, 0.25}),
                       row({2, 3}),
                       row({4}),
                       row({1, 100}),
                       {.sizes = {1, 2, 1, 1}, .data = {8, 16}}},
                      wkv6);
  EXPECT_THAT(y.outputs.data, ElementsAre((8 + 1 * 2 * 4) + 10 * (16 + 100 * 3 * 4)));
  EXPECT_THAT(y.states.data, ElementsAre(4 + 8, 4 + 12));
}

TEST(RwkvWkv6, StateHasValuesInnermost) {
  const auto y = walk({row({1, 0}),
                       row({1, 1}),
                       row({0, 0}),
                       row({0, 0}),
                       row({0, 0}),
                       {.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}}},
                      wkv6);
  EXPECT_THAT(y.outputs.data, ElementsAre(1, 2));
}

TEST(RwkvWkv7, DecaysRemovesAndAddsBeforeReading) {
  const auto y = walk({row({1, 2}), row({0.5, 0.5}), row({1, 2}), row({10}), row({1, 1}),
                       row({1, -1}), row({1, 2})},
                      wkv7);
  EXPECT_THAT(y.states.data, ElementsAre(0.5 + 10 + 3, 1 + 20 - 3));
  EXPECT_THAT(y.outputs.data, ElementsAre(13.5 + 36));
}

TEST(RwkvWkv7, StateHasKeysInnermost) {
  const auto y = walk({row({1, 0}),
                       row({1, 1}),
                       row({0, 0}),
                       row({0, 0}),
                       row({0, 0}),
                       row({0, 0}),
                       {.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}}},
                      wkv7);
  EXPECT_THAT(y.outputs.data, ElementsAre(1, 3));
}

TEST(GatedLinearAttn, DecaysAndUpdatesBeforeReading) {
  const auto y = walk({row({1, 10}),
                       row({2, 3}),
                       row({4}),
                       row({0.5, 0.25}),
                       {.sizes = {1, 2, 1, 1}, .data = {8, 16}}},
                      gla);
  EXPECT_THAT(y.states.data, ElementsAre(12, 16));
  EXPECT_THAT(y.outputs.data, ElementsAre(0.5 * (12 + 160)));
}

TEST(GatedLinearAttn, TakesSequencesOfDifferentLengths) {
  const auto tokens = [](double a, double b, double c, double d) {
    return Leaf{.sizes = {1, 1, 4, 1}, .data = {a, b, c, d}};
  };
  const auto y =
      walk({tokens(1, 1, 1, 1),
            tokens(1, 1, 1, 1),
            tokens(4, 2, 6, 5),
            tokens(0.5, 0.5, 0.5, 0.5),
            {.sizes = {1, 1, 1, 3}, .data = {10, 5, 8}},
            {DType::kI32, {3, 1, 1, 1}, {2, 0, 1}},
            {DType::kI32, {3, 1, 1, 1}, {1, 1, 3}}},
           [](GraphBuilder& g, const Values& v) {
             return gated_linear_attn(g, v[0], v[1], v[2], v[3], v[4], v[5], {.scale = 0.5F}, v[6]);
           });
  EXPECT_EQ(y.outputs.sizes, (Sizes{1, 1, 4, 1}));
  EXPECT_THAT(y.outputs.data, ElementsAre(4, 0.5 * 4.5, 0.5 * 8.25, 0));
  EXPECT_EQ(y.states.sizes, (Sizes{1, 1, 1, 3}));
  EXPECT_THAT(y.states.data, ElementsAre(8, 10, 8.25));
}

TEST(GatedDeltaNet, AppliesTheDeltaRule) {
  // The state decays to (0.5, 1), where the key finds 2.5; half of the difference to 10.5 is 4.
  const auto y =
      walk({row({2, 1}), row({1, 2}), row({10.5}), row({-kLn2}), row({0.5}), row({1, 2})}, delta);
  EXPECT_THAT(y.states.data, is_near({4.5, 9}));
  EXPECT_THAT(y.outputs.data, is_near({0.5 * 18}));
}

TEST(GatedDeltaNet, MayHaveAGatePerKeyChannel) {
  // (0.5, 2), where the key finds 4.5: the difference to 10.5 is 6, half of it 3.
  const auto y = walk(
      {row({2, 1}), row({1, 2}), row({10.5}), row({-kLn2, 0}), row({0.5}), row({1, 2})}, delta);
  EXPECT_THAT(y.states.data, is_near({3.5, 8}));
  EXPECT_THAT(y.outputs.data, is_near({0.5 * 15}));
}

TEST(GatedDeltaNet, SharesKeysAmongGroupsOfHeads) {
  // Two heads of q, four of v, all states 1: head h reads q of h / 2.
  const auto y = walk({{.sizes = {1, 2, 1, 1}, .data = {2, 20}},
                       {.sizes = {1, 2, 1, 1}, .data = {0, 0}},
                       {.sizes = {1, 4, 1, 1}, .data = {0, 0, 0, 0}},
                       {.sizes = {1, 4, 1, 1}, .data = {0, 0, 0, 0}},
                       {.sizes = {1, 4, 1, 1}, .data = {1, 1, 1, 1}},
                       {.sizes = {1, 1, 4, 1}, .data = {1, 1, 1, 1}}},
                      delta);
  EXPECT_THAT(y.outputs.data, ElementsAre(1, 1, 10, 10));
}

/// An op whose sources are tokens but for those that `fixed` names, and the states, which are last.
struct Walk {
  std::string name;
  BuildRecurrence build;
  std::vector<Sizes> sizes;
  std::vector<bool> fixed;
  int token_dim = 2;
};

std::vector<Walk> walks() {
  const Sizes keys = {4, 2, 5, 3};
  const Sizes values = {6, 2, 5, 3};
  const Sizes one = {1, 2, 5, 3};
  return {
      {"ssm_conv", conv, {{4, 5, 3, 1}, {3, 4, 1, 1}, {4, 2, 3, 1}}, {false, true, true}, 1},
      {"rwkv_wkv6",
       wkv6,
       {keys, keys, keys, values, {4, 2, 1, 1}, {6, 4, 2, 3}},
       {false, false, false, false, true, true}},
      {"rwkv_wkv7",
       wkv7,
       {keys, keys, keys, values, keys, keys, {4, 6, 2, 3}},
       {false, false, false, false, false, false, true}},
      {"gated_linear_attn",
       gla,
       {keys, keys, values, keys, {6, 4, 2, 3}},
       {false, false, false, false, true}},
      {"gated_delta_net",
       delta,
       {keys, keys, values, one, one, {4, 6, 2, 3}},
       {false, false, false, false, false, true}},
  };
}

/// Tokens [first, first + count) of a source.
Result<Value> tokens_of(GraphBuilder& g, Operand x, int dim, std::int64_t first,
                        std::int64_t count) {
  Shape shape = g.tensor(*x).shape;
  Sizes start = {0, 0, 0, 0};
  start[static_cast<std::size_t>(dim)] = first;
  shape[static_cast<std::size_t>(dim)] = count;
  return view(g, x, start, shape);
}

TEST(Recurrences, ContinueFromTheirStates) {
  for (const Walk& each : walks()) {
    SCOPED_TRACE(each.name);
    std::vector<Leaf> leaves;
    for (const Sizes& sizes : each.sizes) {
      RefTensor values(sizes);
      for (std::size_t i = 0; i < values.data.size(); ++i) {
        values.data[i] = 0.3 * std::sin(static_cast<double>(i * 7 + leaves.size()));
      }
      leaves.push_back({.sizes = sizes, .data = values.data});
    }
    const auto part = [&](GraphBuilder& g, Values v, std::int64_t first, std::int64_t count) {
      for (std::size_t i = 0; i < v.size(); ++i) {
        if (!each.fixed[i]) v[i] = tokens_of(g, v[i], each.token_dim, first, count);
      }
      return each.build(g, v);
    };
    const Both all = walk(leaves, each.build);
    const Both last = walk(leaves, [&](GraphBuilder& g, Values v) -> Result<Recurrence> {
      const auto begun = part(g, v, 0, 3);
      if (!begun) return Error(begun.error());
      v.back() = begun->states;
      return part(g, v, 3, 2);
    });
    EXPECT_EQ(last.states.data, all.states.data);
    const Both first =
        walk(leaves, [&](GraphBuilder& g, const Values& v) { return part(g, v, 0, 3); });
    // By sequence: the outputs of three tokens, then of two.
    const std::size_t sequences = 3;
    const std::size_t per_token = all.outputs.data.size() / (5 * sequences);
    std::vector<double> joined;
    for (std::size_t s = 0; s < sequences; ++s) {
      for (const auto& [tokens, values] : {std::pair(std::size_t{3}, &first.outputs.data),
                                           std::pair(std::size_t{2}, &last.outputs.data)}) {
        const auto from = values->begin() + static_cast<std::ptrdiff_t>(s * tokens * per_token);
        joined.insert(joined.end(), from, from + static_cast<std::ptrdiff_t>(tokens * per_token));
      }
    }
    EXPECT_EQ(joined, all.outputs.data);
  }
}

}  // namespace
}  // namespace shunt::ops_state_test
