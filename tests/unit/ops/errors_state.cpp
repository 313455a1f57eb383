// Calls that recurrences refuse.
#include <cmath>

#include "unit/ops/bad_calls.h"

namespace shunt {

namespace {

/// Shapes of an op's sources: good ones, of which a call changes one.
using Shapes = std::vector<Shape>;
using Build = std::function<Result<Recurrence>(GraphBuilder&, const std::vector<Result<Value>>&)>;

struct Bad {
  std::size_t source;
  Shape shape;
  std::vector<std::string> says;
  DType type = kF32;
};

/// Each call has one bad source; the last source of `good` are ids.
void add_calls(std::vector<BadCall>& calls, const std::string& op, const Shapes& good,
               const Build& build, const std::vector<Bad>& bad) {
  for (const Bad& each : bad) {
    calls.push_back({op,
                     [=](GraphBuilder& g) -> Result<Value> {
                       std::vector<Result<Value>> sources;
                       for (std::size_t i = 0; i < good.size(); ++i) {
                         const DType type = i + 1 == good.size() ? kI32 : kF32;
                         sources.push_back(i == each.source ? leaf(g, each.type, each.shape)
                                                            : leaf(g, type, good[i]));
                       }
                       const auto result = build(g, sources);
                       if (!result) return Error(result.error());
                       return result->outputs;
                     },
                     each.says});
  }
}

}  // namespace

std::vector<BadCall> state_calls() {
  std::vector<BadCall> calls;
  add_calls(calls, "ssm_conv", {{6, 5, 2}, {4, 6}, {6, 3, 9}, {2}},
            [](GraphBuilder& g, const auto& v) { return ssm_conv(g, v[0], v[1], v[2], v[3]); },
            {{0, {6, 5, 2, 2}, {"x is F32 [6, 5, 2, 2], which has more than 3 dimensions"}},
             {0, {6, 5, 2}, {"x is F16 [6, 5, 2], not F32"}, kF16},
             {1, {4, 7}, {"w is F32 [4, 7], but [K, D] is [4, 6]"}},
             {1, {0, 6}, {"w is F32 [0, 6], which has no taps"}},
             {2, {6, 4, 9}, {"dimension 1 of states is 4"}},
             {2, {6, 3, 9, 2}, {"states is F32 [6, 3, 9, 2], which has more than 3 dimensions"}},
             {3, {3}, {"dimension 0 of ids is 3, but the number of sequences is 2"}, kI32},
             {3, {2}, {"ids is F32 [2], not I32 or I64"}}});
  calls.push_back({"ssm_conv",
                   [](GraphBuilder& g) -> Result<Value> {
                     const auto result = ssm_conv(g, leaf(g, kF32, {6, 5, 2}),
                                                  leaf(g, kF32, {4, 6}), leaf(g, kF32, {6, 3, 9}));
                     if (!result) return Error(result.error());
                     return result->states;
                   },
                   {"dimension 2 of states is 9, but the number of sequences (without ids) is 2"}});
  // Ends last; T 5, S 3.
  add_calls(
      calls, "ssm_conv", {{6, 5}, {4, 6}, {6, 3, 3}, {3}},
      [](GraphBuilder& g, const auto& v) { return ssm_conv(g, v[0], v[1], v[2], absent(), v[3]); },
      {{3, {3}, {"ends is I64 [3], not I32"}, kI64},
       {3, {3, 2}, {"ends is I32 [3, 2], which has more than 1 dimension"}, kI32},
       {3, {2}, {"dimension 2 of states is 3, but the number of sequences"}, kI32},
       {2, {6, 3, 9}, {"dimension 2 of states is 9, but the number of sequences"}},
       {0, {6, 5, 2}, {"dimension 2 of x is 2, but that of tokens with ends is 1"}}});
  // N 8, P 3, H 4, G 2, T 5, S 2.
  add_calls(calls, "ssm_scan",
            {{3, 4, 5, 2}, {4, 5, 2}, {8, 4}, {8, 2, 5, 2}, {8, 2, 5, 2}, {8, 3, 4, 9}, {2}},
            [](GraphBuilder& g, const auto& v) {
              return ssm_scan(g, v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
            },
            {{0, {3, 4, 5, 2}, {"x is I32"}, kI32},
             {1, {4, 5, 3}, {"dt is F32 [4, 5, 3], but [H, T, S] is [4, 5, 2]"}},
             {2, {7, 4}, {"a is F32 [7, 4], but [N, H] is [8, 4]"}},
             {3, {8, 3, 5, 2}, {"the groups of b, 3, do not divide the heads of x, 4"}},
             {3, {8, 2, 6, 2}, {"b is F32 [8, 2, 6, 2], but [N, G, T, S] is [8, 2, 5, 2]"}},
             {4, {8, 4, 5, 2}, {"c is F32 [8, 4, 5, 2], but b is [8, 2, 5, 2]"}},
             {5, {8, 4, 3, 9}, {"dimension 1 of states is 4"}},
             {6, {2, 2}, {"ids is I32 [2, 2]"}, kI32}});
  // K 8, V 6, H 3, T 5, S 2.
  const Shape keys = {8, 3, 5, 2};
  const Shape values = {6, 3, 5, 2};
  add_calls(calls, "rwkv_wkv6", {keys, keys, keys, values, {8, 3}, {6, 8, 3, 9}, {2}},
            [](GraphBuilder& g, const auto& v) {
              return rwkv_wkv6(g, v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
            },
            {{1, {8, 3, 5}, {"w is F32 [8, 3, 5], but r is [8, 3, 5, 2]"}},
             {3, {6, 4, 5, 2}, {"v is F32 [6, 4, 5, 2], but [V, H, T, S] is [6, 3, 5, 2]"}},
             {4, {6, 3}, {"u is F32 [6, 3], but [K, H] is [8, 3]"}},
             {5, {8, 6, 3, 9}, {"dimension 0 of states is 8"}}});
  add_calls(calls, "rwkv_wkv7", {keys, keys, keys, values, keys, keys, {8, 6, 3, 9}, {2}},
            [](GraphBuilder& g, const auto& v) {
              return rwkv_wkv7(g, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
            },
            {{0, {8, 3, 5, 2}, {"r is F16"}, kF16},
             {5, {8, 3, 5, 1}, {"b is F32 [8, 3, 5], but r is"}},
             {6, {6, 8, 3, 9}, {"dimension 0 of states is 6"}}});
  add_calls(calls, "gated_linear_attn", {keys, keys, values, keys, {6, 8, 3, 9}, {2}},
            [](GraphBuilder& g, const auto& v) {
              return gated_linear_attn(g, v[0], v[1], v[2], v[3], v[4], v[5]);
            },
            {{3, {1, 3, 5, 2}, {"gate is F32 [1, 3, 5, 2], but q is [8, 3, 5, 2]"}},
             {4, {6, 8, 4, 9}, {"dimension 2 of states is 4"}}});
  calls.push_back({"gated_linear_attn",
                   [=](GraphBuilder& g) -> Result<Value> {
                     const auto k = leaf(g, kF32, keys);
                     const auto result =
                         gated_linear_attn(g, k, k, leaf(g, kF32, values), k,
                                           leaf(g, kF32, {6, 8, 3, 2}), absent(), {.scale = NAN});
                     if (!result) return Error(result.error());
                     return result->outputs;
                   },
                   {"scale is nan"}});
  for (const std::int64_t sequences : {3, 2}) {
    calls.push_back({"rwkv_wkv7",
                     [=](GraphBuilder& g) -> Result<Value> {
                       const auto k = leaf(g, kF32, keys);
                       const auto result = rwkv_wkv7(
                           g, k, k, k, leaf(g, kF32, values), k, k, leaf(g, kF32, {8, 6, 3, 9}),
                           leaf(g, kI32, {sequences}), leaf(g, kI32, {sequences}));
                       if (!result) return Error(result.error());
                       return result->outputs;
                     },
                     {"dimension 3 of r is 2, but that of tokens with ends is 1"}});
  }
  calls.push_back({"gated_linear_attn",
                   [=](GraphBuilder& g) -> Result<Value> {
                     const auto k = leaf(g, kF32, {8, 3, 5});
                     const auto result = gated_linear_attn(
                         g, k, k, leaf(g, kF32, {6, 3, 5}), k, leaf(g, kF32, {6, 8, 3, 9}),
                         leaf(g, kI32, {2}), {}, leaf(g, kI32, {3}));
                     if (!result) return Error(result.error());
                     return result->outputs;
                   },
                   {"dimension 0 of ids is 2, but the number of sequences is 3"}});
  const Shape key_heads = {8, 2, 5, 2};
  const Shape heads = {6, 4, 5, 2};
  add_calls(calls, "gated_delta_net",
            {key_heads, key_heads, heads, {1, 4, 5, 2}, {1, 4, 5, 2}, {8, 6, 4, 9}, {2}},
            [](GraphBuilder& g, const auto& v) {
              return gated_delta_net(g, v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
            },
            {{0, {8, 2, 6, 2}, {"q is F32 [8, 2, 6, 2], but [K, Hk, T, S] is [8, 2, 5, 2]"}},
             {1, {8, 4, 5, 2}, {"k is F32 [8, 4, 5, 2], but q is"}},
             {2, {6, 3, 5, 2}, {"the heads of q, 2, do not divide the heads of v, 3"}},
             {3, {6, 4, 5, 2}, {"gate is F32 [6, 4, 5, 2], but [K, H, T, S] is [8, 4, 5, 2]"}},
             {4, {8, 4, 5, 2}, {"beta is F32"}},
             {5, {6, 8, 4, 9}, {"dimension 0 of states is 6"}}});
  calls.push_back({"gated_delta_net",
                   [=](GraphBuilder& g) -> Result<Value> {
                     const auto k = leaf(g, kF32, key_heads);
                     const auto one = leaf(g, kF32, {1, 4, 5, 2});
                     const auto result = gated_delta_net(g, k, k, leaf(g, kF32, heads), one, one,
                                                         leaf(g, kF32, {8, 6, 4, 2}), absent(),
                                                         {.scale = INFINITY});
                     if (!result) return Error(result.error());
                     return result->outputs;
                   },
                   {"scale is inf"}});
  return calls;
}

}  // namespace shunt
