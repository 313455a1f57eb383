// Calls that the ops that move and make data refuse.
#include <cmath>

#include "unit/ops/bad_calls.h"

namespace shunt {

namespace {

using Call = std::function<Result<Value>(GraphBuilder&)>;

std::vector<BadCall> set_and_concat_calls() {
  const auto set_at = [](const Shape& dst, const Shape& x, const Sizes& start) -> Call {
    return [=](GraphBuilder& g) { return set(g, leaf(g, kF32, dst), leaf(g, kF32, x), start); };
  };
  const auto join = [](const Shape& a, const Shape& b, int dim, DType type = kF32) -> Call {
    return [=](GraphBuilder& g) { return concat(g, leaf(g, kF32, a), leaf(g, type, b), dim); };
  };
  return {
      {"set",
       set_at({8, 4}, {4, 2}, {5, 0, 0, 0}),
       {"F32 [8, 4], F32 [4, 2]", "dimension 0: 4 elements from 5 on are not inside of dst"}},
      {"set",
       set_at({8, 4}, {4, 2}, {0, -1, 0, 0}),
       {"dimension 1: 2 elements from -1 on are not inside of dst, which has 4"}},
      {"set",
       set_at({8, 4}, {4, 2}, {0, INT64_MAX, 0, 0}),
       {"dimension 1: 2 elements from 9223372036854775807 on"}},
      {"set",
       [](GraphBuilder& g) {
         return set(g, leaf(g, kF32, {8, *g.dynamic_dim("tokens", 4)}), leaf(g, kF32, {8, 2}), {});
       },
       {"dimension 1: 2 elements from 0 on are not inside of dst, which has 4*"}},
      {"set",
       [](GraphBuilder& g) {
         return set(g, leaf(g, kQ8_0, {96}), leaf(g, kF32, {32}), {16, 0, 0, 0});
       },
       {"start[0] is 16, which is not whole blocks of dst, Q8_0 [96], which have 32"}},
      {"set",
       [](GraphBuilder& g) { return set(g, leaf(g, kQ8_0, {96}), leaf(g, kF32, {31}), {}); },
       {"dimension 0 of x is 31, which is not whole blocks of dst"}},
      {"set",
       [](GraphBuilder& g) {
         return set(g, leaf(g, DType::kIQ2_S, {256}), leaf(g, kF32, {256}), {});
       },
       {"x is F32 [256], which is not converted to dst's type, IQ2_S", "importance"}},
      {"set",
       [](GraphBuilder& g) {
         const auto given = g.input("given", *make_tensor(kF32, {4}));
         return set(g, given, leaf(g, kF32, {4}), {});
       },
       {"it would write into given (input)"}},
      {"concat",
       join({4, 2}, {4, 3}, 0),
       {"F32 [4, 2], F32 [4, 3]", "dimension 1 of b is 3, but that of a is 2"}},
      {"concat", join({4, 2}, {4, 2}, 4), {"dim is 4, but must be from 0 to 3"}},
      {"concat", join({4, 2}, {4, 2}, -1), {"dim is -1"}},
      {"concat", join({4, 2}, {4, 2}, 0, kF16), {"a and b differ in type: F32 and F16"}},
      {"concat",
       [](GraphBuilder& g) {
         return concat(g, leaf(g, kF32, {4, *g.dynamic_dim("tokens", 8)}), leaf(g, kF32, {4, 2}),
                       1);
       },
       {"dimension 1 of a is 8*, and that of b 2: the sum is no multiple of one dynamic "
        "dimension"}},
      {"concat",
       [](GraphBuilder& g) {
         const auto most = g.cache("", *make_tensor(DType::kI8, {INT64_MAX}));
         return concat(g, most, most, 0);
       },
       {"more than 63 bits"}},
      {"concat",
       [](GraphBuilder& g) {
         const auto much = g.cache("", *make_tensor(DType::kI8, {INT64_MAX / 2, 1}));
         return concat(g, much, concat(g, much, much, 1), 1);
       },
       {"its size in bytes has more than 63 bits"}},
  };
}

std::vector<BadCall> move_calls() {
  const auto padded = [](const Shape& x, PadParams params, DType type = kF32) -> Call {
    return [=](GraphBuilder& g) { return pad(g, leaf(g, type, x), params); };
  };
  const auto reflected = [](std::int64_t before, std::int64_t after, DType type = kF32) -> Call {
    return [=](GraphBuilder& g) {
      return pad_reflect_1d(g, leaf(g, type, {trait(type).quantized ? 32 : 4}), {before, after});
    };
  };
  return {
      {"repeat",
       [](GraphBuilder& g) {
         return repeat(g, leaf(g, kF32, {4, 2}), {8, 3});
       },
       {"F32 [4, 2]", "dimension 1 of x is 2, which does not divide that of shape, 3"}},
      {"repeat",
       [](GraphBuilder& g) {
         return repeat(g, leaf(g, kF32, {4, 2}), {-4, 2});
       },
       {"negative"}},
      {"repeat",
       [](GraphBuilder& g) {
         return repeat(g, leaf(g, kF32, {4, 2}), {4, std::int64_t{1} << 61});
       },
       {"more than 63 bits"}},
      {"repeat",
       [](GraphBuilder& g) {
         return repeat(g, leaf(g, kF32, {4, 2}), {4, *g.dynamic_dim("tokens", 8)});
       },
       {"dimension 1 of x is 2, which does not divide that of shape, 8*"}},
      {"pad",
       padded({4, 2}, {.before = {0, -1, 0, 0}}),
       {"F32 [4, 2]", "-1 elements before and 0 after dimension 1 of x, 2"}},
      {"pad",
       padded({4, 2}, {.after = {-1, 0, 0, 0}}),
       {"0 elements before and -1 after dimension 0 of x, 4"}},
      {"pad",
       padded({4, 2}, {.before = {INT64_MAX, 0, 0, 0}, .after = {INT64_MAX, 0, 0, 0}}),
       {"nor all together have more than 63 bits"}},
      {"pad",
       padded({4, 2}, {.before = {INT64_MAX - 1, 0, 0, 0}}),
       {"nor all together have more than 63 bits"}},
      {"pad", padded({4, 2}, {.before = {INT64_MAX / 2, 0, 0, 0}}), {"more than 63 bits"}},
      {"pad", padded({4}, {.before = {1, 0, 0, 0}, .value = NAN}), {"value is nan"}},
      {"pad",
       padded({32}, {.before = {0, 1, 0, 0}}, kQ8_0),
       {"x is Q8_0 [32], whose elements are in blocks"}},
      {"pad",
       padded({64}, {.before = {16, 0, 0, 0}, .padding = Padding::kCircular}, kQ8_0),
       {"before[0] is 16, which is not whole blocks of x"}},
      {"pad",
       padded({64}, {.after = {31, 0, 0, 0}, .padding = Padding::kCircular}, kQ8_0),
       {"after[0] is 31, which is not whole blocks of x"}},
      {"pad",
       padded({4, 0}, {.before = {0, 1, 0, 0}, .padding = Padding::kCircular}),
       {"dimension 1 of x has no element to repeat"}},
      {"pad",
       [](GraphBuilder& g) {
         return pad(g, leaf(g, kF32, {4, *g.dynamic_dim("tokens", 8)}), {.after = {0, 1, 0, 0}});
       },
       {"dimension 1 of x is 8*, a dynamic dimension, which can't grow by 1"}},
      {"pad_reflect_1d",
       reflected(4, 0),
       {"F32 [4]", "4 elements before and 0 after rows of 4", "fewer than a row has"}},
      {"pad_reflect_1d", reflected(0, 4), {"0 elements before and 4 after rows of 4"}},
      {"pad_reflect_1d", reflected(-1, 0), {"-1 elements before"}},
      {"pad_reflect_1d", reflected(0, -1), {"-1 after"}},
      {"pad_reflect_1d", reflected(1, 0, kQ8_0), {"x is Q8_0 [32], whose elements are in blocks"}},
      {"pad_reflect_1d",
       [](GraphBuilder& g) {
         return pad_reflect_1d(g, leaf(g, kF32, {*g.dynamic_dim("tokens", 8)}), {1, 0});
       },
       {"dimension 0 of x is 8*, a dynamic dimension"}},
      {"pad_reflect_1d",
       [](GraphBuilder& g) {
         const std::int64_t most = INT64_MAX;
         return pad_reflect_1d(g, g.cache("", *make_tensor(DType::kI8, {most})), {most - 1, 1});
       },
       {"more than 63 bits"}},
      {"roll",
       [](GraphBuilder& g) {
         return roll(g, leaf(g, kQ8_0, {64}), {-33, 0, 0, 0});
       },
       {"shift[0] is -33, which is not whole blocks of x, Q8_0 [64]"}},
      {"roll", [](GraphBuilder& g) { return roll(g, absent(), {}); }, {"x is not given"}},
      {"diag",
       [](GraphBuilder& g) {
         return diag(g, leaf(g, kF32, {4, 2}));
       },
       {"dimension 1 of x is 2, but that of a vector is 1"}},
      {"diag", [](GraphBuilder& g) { return diag(g, leaf(g, kQ8_0, {32})); }, {"are in blocks"}},
      {"diag",
       [](GraphBuilder& g) { return diag(g, leaf(g, kF32, {std::int64_t{1} << 32})); },
       {"more than 63 bits"}},
      {"tri",
       [](GraphBuilder& g) {
         return tri(g, leaf(g, kQ8_0, {32, 32}));
       },
       {"x is Q8_0 [32, 32], whose elements are in blocks"}},
      {"tri", [](GraphBuilder& g) { return tri(g, absent()); }, {"x is not given"}},
      {"diag_mask_inf",
       [](GraphBuilder& g) {
         return diag_mask_inf(g, leaf(g, kI32, {4, 4}), 0);
       },
       {"x is I32 [4, 4], not F32, F16 or BF16"}},
      {"diag_mask_inf",
       [](GraphBuilder& g) {
         return diag_mask_inf(g, leaf(g, kF32, {4, 4}), -1);
       },
       {"n_past is -1"}},
      {"cumsum", [](GraphBuilder& g) { return cumsum(g, leaf(g, kI32, {4})); }, {"x is I32 [4]"}},
      {"cumsum",
       [](GraphBuilder& g) { return cumsum(g, leaf(g, kQ8_0, {32})); },
       {"x is Q8_0 [32]"}},
  };
}

std::vector<BadCall> upscale_calls() {
  const auto resized = [](UpscaleParams params, const Shape& x = {4, 3},
                          DType type = kF32) -> Call {
    return [=](GraphBuilder& g) { return upscale(g, leaf(g, type, x), params); };
  };
  const std::int64_t much = std::int64_t{1} << 31;
  return {
      {"upscale", resized({0, 3}), {"F32 [4, 3]", "width is 0, but must be from 1 to 2147483647"}},
      {"upscale", resized({much, 3}), {"width is 2147483648"}},
      {"upscale", resized({4, -1}), {"height is -1"}},
      {"upscale", resized({4, much}), {"height is 2147483648"}},
      {"upscale", resized({4, 3}, {4, 3}, kI32), {"x is I32 [4, 3], not F32, F16 or BF16"}},
      {"upscale", resized({4, 3}, {0, 3}), {"dimension 0 of x is 0, but must be from 1"}},
      {"upscale", resized({4, 3}, {1, much}), {"dimension 1 of x is 2147483648, but must be"}},
      {"upscale", resized({much - 1, much - 1}, {1, 1, much}), {"more than 63 bits"}},
      {"upscale",
       resized({.width = 4, .height = 3, .align_corners = true}),
       {"align_corners can't be used in mode nearest"}},
      {"upscale",
       resized({.width = 4, .height = 3, .antialias = true}),
       {"antialias can't be used in mode nearest"}},
      {"upscale",
       [](GraphBuilder& g) {
         return upscale(g, leaf(g, kF32, {4, *g.dynamic_dim("height", 8)}), {4, 3});
       },
       {"dimension 1 of x is 8*, a dynamic dimension"}},
  };
}

std::vector<BadCall> make_calls() {
  const auto numbers = [](ArangeParams params) -> Call {
    return [=](GraphBuilder& g) { return arange(g, params); };
  };
  const auto embedded = [](TimestepEmbeddingParams params, const Shape& t, DType type) -> Call {
    return [=](GraphBuilder& g) { return timestep_embedding(g, leaf(g, type, t), params); };
  };
  return {
      {"arange", numbers({0, 4, 0}), {"step is 0"}},
      {"arange", numbers({NAN, 4, 1}), {"start is nan"}},
      {"arange", numbers({0, INFINITY, 1}), {"stop is inf"}},
      {"arange", numbers({0, 4, -INFINITY}), {"step is -inf"}},
      {"arange",
       numbers({0, 1, 1e-300}),
       {"from 0 to 1 by 1e-300 are", "numbers, which is too many"}},
      {"arange", numbers({-1e308, 1e308, 1e-10}), {"are inf numbers, which is too many"}},
      {"fill",
       [](GraphBuilder& g) { return fill(g, {32}, 1, kQ8_0); },
       {"Q8_0 [32], whose elements are in blocks"}},
      {"fill",
       [](GraphBuilder& g) {
         return fill(g, {3, -1}, 1);
       },
       {"dimension 1 is negative"}},
      {"fill", [](GraphBuilder& g) { return fill(g, {3}, NAN); }, {"value is not a number"}},
      {"fill",
       [](GraphBuilder& g) { return fill(g, {Dim(3, 8)}, 1); },
       {"a dynamic dimension that is not of this graph"}},
      {"timestep_embedding", embedded({0}, {4}, kF32), {"F32 [4]", "dim is 0"}},
      {"timestep_embedding",
       embedded({8}, {4, 2}, kF32),
       {"t is F32 [4, 2], which has more than 1 dimension"}},
      {"timestep_embedding", embedded({8}, {4}, kI64), {"t is I64 [4], not F32 or I32"}},
      {"timestep_embedding", embedded({8, 0}, {4}, kF32), {"max_period is 0"}},
      {"timestep_embedding", embedded({8, NAN}, {4}, kF32), {"max_period is nan"}},
      {"timestep_embedding", embedded({INT64_MAX}, {4}, kF32), {"more than 63 bits"}},
  };
}

}  // namespace

std::vector<BadCall> data_calls() {
  std::vector<BadCall> calls = set_and_concat_calls();
  for (const auto& more : {move_calls(), make_calls(), upscale_calls()}) {
    calls.insert(calls.end(), more.begin(), more.end());
  }
  return calls;
}

}  // namespace shunt
