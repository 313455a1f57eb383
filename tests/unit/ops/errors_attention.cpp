// Calls that softmax, rope and attention refuse.
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "unit/ops/bad_calls.h"

namespace shunt {

std::vector<BadCall> softmax_calls() {
  const auto biased = [](GraphBuilder& g, float max_bias) {
    const auto x = leaf(g, kF32, {4, 2, 3});
    return softmax(g, x, leaf(g, kF32, {4, 2}), {.max_bias = max_bias});
  };
  const auto with_sinks = [](GraphBuilder& g, Operand sinks) {
    return softmax(g, leaf(g, kF32, {4, 2, 3}), absent(), {}, sinks);
  };
  return {
      {"softmax",
       [](GraphBuilder& g) {
         return softmax(g, leaf(g, kI32, {4, 2}));
       },
       {"x is I32 [4, 2], not F32, F16 or BF16"}},
      {"softmax",
       [](GraphBuilder& g) {
         return softmax(g, leaf(g, kF32, {4, 2}), leaf(g, kF32, {4, 1}));
       },
       {"mask is F32 [4], but the scores are [4, 2]"}},
      {"softmax",
       [](GraphBuilder& g) {
         return softmax(g, leaf(g, kF32, {4, 2}), leaf(g, kI32, {4, 2}));
       },
       {"mask is I32 [4, 2], not F32 or F16"}},
      {"softmax",
       [](GraphBuilder& g) { return softmax(g, leaf(g, kF32, {4}), absent(), {.scale = NAN}); },
       {"scale is nan"}},
      {"softmax",
       [](GraphBuilder& g) { return softmax(g, leaf(g, kF32, {4}), absent(), {.max_bias = 8}); },
       {"max_bias is 8, but there is no mask"}},
      {"softmax", [=](GraphBuilder& g) { return biased(g, -1); }, {"max_bias is -1"}},
      {"softmax", [=](GraphBuilder& g) { return biased(g, 101); }, {"max_bias is 101"}},
      {"softmax", [=](GraphBuilder& g) { return biased(g, NAN); }, {"max_bias is nan"}},
      {"softmax",
       [=](GraphBuilder& g) { return with_sinks(g, leaf(g, kF16, {3})); },
       {"sinks is F16 [3], not F32"}},
      {"softmax",
       [=](GraphBuilder& g) { return with_sinks(g, leaf(g, kF32, {2})); },
       {"dimension 0 of sinks is 2, but the number of heads is 3"}},
      {"softmax",
       [=](GraphBuilder& g) {
         return with_sinks(g, leaf(g, kF32, {3, 2}));
       },
       {"sinks is F32 [3, 2], which has more than 1 dimension"}},
  };
}

std::vector<BadCall> rope_calls() {
  const auto rotate = [](GraphBuilder& g, RopeParams params) {
    return rope(g, leaf(g, kF32, {8, 2, 3}), leaf(g, kI32, {3}), absent(), params);
  };
  const auto in_sections = [](GraphBuilder& g, const Shape& positions,
                              const std::array<std::int64_t, 4>& sections,
                              RopeMode mode = RopeMode::kMulti) {
    return rope(g, leaf(g, kF32, {8, 2, 3}), leaf(g, kI32, positions), absent(),
                {.dims = 8, .mode = mode, .sections = sections});
  };
  return {
      {"rope", [=](GraphBuilder& g) { return rotate(g, {}); }, {"dims is 0"}},
      {"rope", [=](GraphBuilder& g) { return rotate(g, {.dims = 3}); }, {"dims is 3", "even"}},
      {"rope", [=](GraphBuilder& g) { return rotate(g, {.dims = 10}); }, {"dims is 10", "size, 8"}},
      {"rope",
       [=](GraphBuilder& g) { return rotate(g, {.dims = 8, .freq_base = 0}); },
       {"freq_base is 0"}},
      {"rope",
       [=](GraphBuilder& g) { return rotate(g, {.dims = 8, .ext_factor = 1}); },
       {"original_context is 0", "YaRN"}},
      {"rope",
       [](GraphBuilder& g) {
         return rope(g, leaf(g, kF32, {8, 2, 3}), leaf(g, kI32, {2}), absent(), {.dims = 8});
       },
       {"F32 [8, 2, 3], I32 [2]", "dimension 0 of positions is 2, but dimension 2 of x is 3"}},
      {"rope",
       [](GraphBuilder& g) {
         return rope(g, leaf(g, kF32, {8}), leaf(g, kF32, {1}), absent(), {.dims = 8});
       },
       {"positions is F32 [1], not I32"}},
      {"rope",
       [](GraphBuilder& g) {
         return rope(g, leaf(g, kF32, {8}), leaf(g, kI32, {1}), leaf(g, kF32, {8}), {.dims = 8});
       },
       {"dimension 0 of freq_factors is 8, but dims / 2 is 4"}},
      {"rope",
       [](GraphBuilder& g) {
         return rope(g, leaf(g, kI32, {8}), leaf(g, kI32, {1}), absent(), {.dims = 8});
       },
       {"x is I32 [8], not F32, F16 or BF16"}},
      {"rope",
       [=](GraphBuilder& g) {
         return rotate(g, {.dims = 8, .sections = {4, 0, 0, 0}});
       },
       {"sections are [4, 0, 0, 0]", "mode normal has none"}},
      {"rope",
       [=](GraphBuilder& g) {
         return in_sections(g, {3, 4}, {2, 1, 0, 0});
       },
       {"sections are [2, 1, 0, 0]", "4 together"}},
      {"rope",
       [=](GraphBuilder& g) {
         return in_sections(g, {3, 4}, {2, 2, 1, 0}, RopeMode::kVision);
       },
       {"sections are [2, 2, 1, 0]", "4 together"}},
      {"rope",
       [=](GraphBuilder& g) {
         return in_sections(g, {3, 4}, {-1, 2, 3, 0});
       },
       {"sections are [-1, 2, 3, 0]", "at least 0"}},
      {"rope",
       [=](GraphBuilder& g) {
         constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
         return in_sections(g, {3, 4}, {kHuge, kHuge, 4, 2});  // 4 in 64 bits
       },
       {"4 together"}},
      {"rope",
       [=](GraphBuilder& g) {
         return in_sections(g, {3}, {2, 2, 0, 0});
       },
       {"dimension 1 of positions is 1", "positions in mode multi is 4"}},
      {"rope",
       [=](GraphBuilder& g) {
         return in_sections(g, {3, 4, 2}, {2, 2, 0, 0});
       },
       {"positions is I32 [3, 4, 2]"}},
      {"rope",
       [](GraphBuilder& g) {
         return rope(g, leaf(g, kF32, {8, 2, 3}), leaf(g, kI32, {3, 4}), absent(), {.dims = 8});
       },
       {"dimension 1 of positions is 4", "positions in mode normal is 1"}},
  };
}

std::vector<BadCall> attention_calls() {
  struct Shapes {
    Shape q, k, v;
  };
  const auto with = [](const AttentionParams& params, DType type = kF32,
                       std::optional<Shape> sinks = {}) {
    return [=](GraphBuilder& g) {
      const auto kv = leaf(g, kF32, {8, 2, 5});
      return attention(g, leaf(g, kF32, {8, 4, 3}), kv, kv, absent(), params,
                       sinks ? leaf(g, type, *sinks) : absent());
    };
  };
  const auto call = [](const Shapes& shapes, DType type = kF16) {
    return [=](GraphBuilder& g) {
      return attention(g, leaf(g, kF32, shapes.q), leaf(g, type, shapes.k),
                       leaf(g, type, shapes.v));
    };
  };
  return {
      {"attention",
       call({{8, 4, 3}, {9, 2, 5}, {8, 2, 5}}),
       {"F32 [8, 4, 3], F16 [9, 2, 5], F16 [8, 2, 5]): ", "dimension 0 of k is 9"}},
      {"attention",
       call({{8, 4, 3}, {8, 3, 5}, {8, 3, 5}}),
       {"the heads of k, 3, do not divide the heads of q, 4"}},
      {"attention", call({{8, 4, 3}, {8, 2, 5}, {8, 2, 6}}), {"dimension 2 of v is 6"}},
      {"attention", call({{8, 4, 3}, {8, 2, 5}, {8, 4, 5}}), {"dimension 1 of v is 4"}},
      {"attention", call({{8, 4, 3}, {8, 2, 5, 2}, {8, 2, 5, 2}}), {"dimension 3 of k is 2"}},
      {"attention", call({{8, 4, 3}, {8, 2, 5}, {8, 2, 5}}, kI32), {"k is I32 [8, 2, 5]"}},
      {"attention",
       [](GraphBuilder& g) {
         const auto kv = leaf(g, kF32, {8, 2, 5});
         return attention(g, leaf(g, kF32, {8, 4, 3}), kv, kv, leaf(g, kF32, {5, 4}));
       },
       {"mask is F32 [5, 4], but the scores are [5, 3, 4]"}},
      {"attention",
       [](GraphBuilder& g) {
         const auto kv = leaf(g, kF32, {8, 2, 5});
         return attention(g, leaf(g, kF32, {8, 4, 3}), kv, kv, absent(), {.scale = INFINITY});
       },
       {"scale is inf"}},
      {"attention", with({.softcap = -1}), {"softcap is -1"}},
      {"attention", with({.softcap = INFINITY}), {"softcap is inf"}},
      {"attention", with({.max_bias = 8}), {"max_bias is 8, but there is no mask"}},
      {"attention", with({.max_bias = -8}), {"max_bias is -8"}},
      {"attention", with({}, kF16, Shape{4}), {"sinks is F16 [4], not F32"}},
      {"attention",
       with({}, kF32, Shape{2}),
       {"dimension 0 of sinks is 2, but the number of heads is 4"}},
      {"attention", with({}, kF32, Shape{4, 3}), {"sinks is F32 [4, 3]"}},
      {"attention",
       [](GraphBuilder& g) {
         return attention(g, leaf(g, kF32, {32, 4, 3}), leaf(g, kQ8_0, {32, 2, 5}),
                          leaf(g, DType::kQ4_1, {32, 2, 5}));
       },
       {"v is Q4_1 [32, 2, 5], not F32, F16, BF16, Q8_0 or Q4_0"}},
      {"attention",
       [](GraphBuilder& g) {
         return attention(g, leaf(g, kF32, {8, 4, 3}), leaf(g, kQ8_0, {32, 2, 5}),
                          leaf(g, kQ8_0, {32, 2, 5}));
       },
       {"dimension 0 of k is 32, but that of q is 8"}},
  };
}

std::vector<BadCall> paged_attention_calls() {
  struct Sources {
    Shape q = {8, 4, 3};
    Shape k = {8, 2, 64};
    Shape v = {8, 2, 64};
    Shape sequences = {3, 2};
    Shape table = {5};
    DType cache = kF16;
    DType of_sequences = kI32;
    DType of_table = kI32;
    std::optional<Shape> mask = {};
    std::optional<Shape> sinks = {};
  };
  const auto call = [](const Sources& with, const PagedAttentionParams& params = {}) {
    return [=](GraphBuilder& g) {
      return paged_attention(
          g, leaf(g, kF32, with.q), leaf(g, with.cache, with.k), leaf(g, with.cache, with.v),
          leaf(g, with.of_sequences, with.sequences), leaf(g, with.of_table, with.table), params,
          with.mask ? leaf(g, kF32, *with.mask) : absent(),
          with.sinks ? leaf(g, kF32, *with.sinks) : absent());
    };
  };
  const auto with = [&](const PagedAttentionParams& params) { return call({}, params); };
  return {
      {"paged_attention", call({.k = {9, 2, 64}}), {"dimension 0 of k is 9"}},
      {"paged_attention", call({.v = {8, 2, 65}}), {"dimension 2 of v is 65"}},
      {"paged_attention", call({.v = {8, 4, 64}}), {"dimension 1 of v is 4"}},
      {"paged_attention",
       call({.k = {8, 3, 64}, .v = {8, 3, 64}}),
       {"the heads of k, 3, do not divide the heads of q, 4"}},
      {"paged_attention", call({.q = {8, 4, 3, 2}}), {"q is F32 [8, 4, 3, 2]"}},
      {"paged_attention", call({.k = {8, 2, 64, 2}, .v = {8, 2, 64, 2}}), {"k is F16"}},
      {"paged_attention", call({.cache = kI32}), {"k is I32"}},
      {"paged_attention", call({.sequences = {2, 2}}), {"dimension 0 of sequences is 2"}},
      {"paged_attention", call({.sequences = {3, 2, 2}}), {"sequences is I32 [3, 2, 2]"}},
      {"paged_attention", call({.of_sequences = DType::kI64}), {"sequences is I64"}},
      {"paged_attention", call({.table = {5, 2}}), {"block_table is I32 [5, 2]"}},
      {"paged_attention", call({.of_table = kF32}), {"block_table is F32"}},
      {"paged_attention", call({.mask = Shape{64, 4}}), {"mask is F32 [64, 4]"}},
      {"paged_attention", call({.mask = Shape{64, 3, 2}}), {"mask is F32 [64, 3, 2]"}},
      {"paged_attention", call({.sinks = Shape{2}}), {"dimension 0 of sinks is 2"}},
      {"paged_attention", with({.scale = INFINITY}), {"scale is inf"}},
      {"paged_attention", with({.max_bias = -8}), {"max_bias is -8"}},
      {"paged_attention", with({.softcap = -1}), {"softcap is -1"}},
      {"paged_attention", with({.window = 4}), {"window is 4, but a causal span has none"}},
      {"paged_attention",
       with({.span = AttentionSpan::kSlidingWindow}),
       {"window is 0, but a sliding window span has at least 1"}},
      {"paged_attention",
       with({.span = AttentionSpan::kChunked, .window = -1}),
       {"window is -1, but a chunked span has at least 1"}},
      {"paged_attention", with({.block = 0}), {"block is 0, which is not a multiple of 16"}},
      {"paged_attention", with({.block = 24}), {"block is 24"}},
      {"paged_attention", with({.block = 131072}), {"block is 131072"}},
  };
}

}  // namespace shunt
