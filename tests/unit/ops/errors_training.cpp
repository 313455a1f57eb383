// Calls that training's ops refuse.
#include <cmath>

#include "unit/ops/bad_calls.h"

namespace shunt {

std::vector<BadCall> training_calls() {
  std::vector<BadCall> calls;
  // Ops of two F32 sources of the same shape.
  using PairCall = std::function<Result<Value>(GraphBuilder&, Operand, Operand)>;
  struct NamedPair {
    std::string op;
    std::string a, b;
    PairCall call;
  };
  const auto one = [](GraphBuilder& g, DType type = kF32) { return leaf(g, type, {1}); };
  const std::vector<NamedPair> pairs = {
      {"silu_back", "dy", "x", &silu_back},
      {"rms_norm_back", "dy", "x",
       [](GraphBuilder& g, Operand a, Operand b) { return rms_norm_back(g, a, b); }},
      {"softmax_back", "dy", "y",
       [](GraphBuilder& g, Operand a, Operand b) { return softmax_back(g, a, b); }},
      {"cross_entropy_loss", "logits", "labels", &cross_entropy_loss},
      {"cross_entropy_loss_back", "logits", "labels",
       [=](GraphBuilder& g, Operand a, Operand b) {
         return cross_entropy_loss_back(g, one(g), a, b);
       }},
      {"update_moment", "m", "x",
       [](GraphBuilder& g, Operand a, Operand b) { return update_moment(g, a, b); }},
      {"opt_step_sgd", "w", "gradient",
       [=](GraphBuilder& g, Operand a, Operand b) { return opt_step_sgd(g, a, b, one(g)); }},
  };
  for (const NamedPair& pair : pairs) {
    calls.push_back({pair.op,
                     [=](GraphBuilder& g) {
                       return pair.call(g, leaf(g, kF16, {4, 2}), leaf(g, kF32, {4, 2}));
                     },
                     {"F16 [4, 2], F32 [4, 2]", pair.a + " is F16 [4, 2], not F32"}});
    calls.push_back({pair.op,
                     [=](GraphBuilder& g) {
                       return pair.call(g, leaf(g, kF32, {4, 2}), leaf(g, kF32, {4, 3}));
                     },
                     {pair.a + " and " + pair.b + " differ in shape: [4, 2] and [4, 3]"}});
  }
  const auto pair_of = [](GraphBuilder& g) { return leaf(g, kF32, {4, 2}); };
  const auto add = [&](const std::string& op, const std::function<Result<Value>(GraphBuilder&)>& f,
                       const std::vector<std::string>& says) {
    calls.push_back({op, f, says});
  };
  add("acc", [](GraphBuilder& g) { return acc(g, leaf(g, kI32, {4}), leaf(g, kF32, {4})); },
      {"dst is I32 [4], not F32, F16 or BF16"});
  add("acc", [](GraphBuilder& g) { return acc(g, leaf(g, kF16, {4}), leaf(g, kQ8_0, {32})); },
      {"x is Q8_0 [32], not F32, F16 or BF16"});
  add("acc",
      [](GraphBuilder& g) {
        return acc(g, leaf(g, kF16, {4, 2}), leaf(g, kF32, {4, 3}));
      },
      {"dst and x differ in shape: [4, 2] and [4, 3]"});
  for (const auto& [input, op] : {std::pair("acc", 0), {"update_moment", 1}}) {
    add(input,
        [=, which = op](GraphBuilder& g) {
          const auto x = g.input("given", *make_tensor(kF32, {4, 2}));
          return which == 0 ? acc(g, x, pair_of(g)) : update_moment(g, x, pair_of(g));
        },
        {"it would write into given (input)"});
  }
  add("rms_norm_back",
      [=](GraphBuilder& g) { return rms_norm_back(g, pair_of(g), pair_of(g), {.eps = -1}); },
      {"eps is -1"});
  add("softmax_back",
      [=](GraphBuilder& g) { return softmax_back(g, pair_of(g), pair_of(g), {.scale = NAN}); },
      {"scale is nan"});
  add("softmax_back",
      [=](GraphBuilder& g) { return softmax_back(g, pair_of(g), pair_of(g), {.max_bias = -1}); },
      {"max_bias is -1"});
  add("cross_entropy_loss_back",
      [=](GraphBuilder& g) {
        return cross_entropy_loss_back(g, leaf(g, kF32, {2}), pair_of(g), pair_of(g));
      },
      {"dloss is F32 [2], not a single number"});
  add("update_moment",
      [=](GraphBuilder& g) {
        return update_moment(g, pair_of(g), pair_of(g), {.beta = 1.5F, .power = 1});
      },
      {"beta is 1.5"});
  add("update_moment",
      [=](GraphBuilder& g) {
        return update_moment(g, pair_of(g), pair_of(g), {.beta = 0.5F, .power = 3});
      },
      {"power is 3"});
  add("opt_step_sgd",
      [=](GraphBuilder& g) {
        return opt_step_sgd(g, pair_of(g), pair_of(g), one(g), {.weight_decay = -1});
      },
      {"weight_decay is -1"});
  add("opt_step_sgd",
      [=](GraphBuilder& g) { return opt_step_sgd(g, pair_of(g), pair_of(g), one(g, kI32)); },
      {"rate is I32 [1], not F32"});
  add("opt_step_sgd",
      [=](GraphBuilder& g) {
        const auto weight = g.weight("w", *make_tensor(kF32, {4, 2}));
        return opt_step_sgd(g, weight, pair_of(g), one(g));
      },
      {"it would write into w (weight)"});

  const auto adamw = [=](GraphBuilder& g, AdamwParams params, const Shape& v, DType step) {
    return opt_step_adamw(g, pair_of(g), pair_of(g), pair_of(g), leaf(g, kF32, v), one(g),
                          one(g, step), params);
  };
  const auto step_of = [=](AdamwParams params) {
    return [=](GraphBuilder& g) { return adamw(g, params, {4, 2}, kI32); };
  };
  add("opt_step_adamw", step_of({.beta1 = 1}), {"beta1 is 1"});
  add("opt_step_adamw", step_of({.eps = 0}), {"eps is 0"});
  add("opt_step_adamw", step_of({.weight_decay = NAN}), {"weight_decay is nan"});
  add("opt_step_adamw",
      [=](GraphBuilder& g) {
        return adamw(g, {}, {4, 2}, kF32);
      },
      {"step is F32 [1], not I32"});
  add("opt_step_adamw",
      [=](GraphBuilder& g) {
        return opt_step_adamw(g, leaf(g, kF32, {4}), pair_of(g), pair_of(g), pair_of(g), one(g),
                              one(g, kI32));
      },
      {"w and m differ in shape"});
  // Its moments are nodes of their own.
  add("update_moment",
      [=](GraphBuilder& g) {
        return adamw(g, {}, {4, 3}, kI32);
      },
      {"m and x differ in shape"});
  add("update_moment", step_of({.beta2 = NAN}), {"beta is nan"});

  add("repeat_back",
      [=](GraphBuilder& g) {
        return repeat_back(g, pair_of(g), {3, 2});
      },
      {"F32 [4, 2]", "dimension 0 of shape is 3, which does not divide that of dy, 4"});
  add("repeat_back",
      [=](GraphBuilder& g) {
        return repeat_back(g, pair_of(g), {4, -1});
      },
      {"negative"});
  add("repeat_back", [=](GraphBuilder& g) { return repeat_back(g, leaf(g, kI32, {4}), {4}); },
      {"dy is I32 [4]"});
  add("get_rows_back",
      [=](GraphBuilder& g) { return get_rows_back(g, pair_of(g), leaf(g, kI32, {3}), 9); },
      {"dimension 0 of ids is 3, but the number of rows of dy is 2"});
  add("get_rows_back",
      [=](GraphBuilder& g) { return get_rows_back(g, pair_of(g), leaf(g, kF32, {2}), 9); },
      {"ids is F32 [2]"});
  add("get_rows_back",
      [=](GraphBuilder& g) { return get_rows_back(g, pair_of(g), leaf(g, kI32, {2}), -1); },
      {"rows is -1"});
  const auto to_image = [](GraphBuilder& g, const Shape& dy, const Im2colBackParams& params) {
    return im2col_back(g, leaf(g, kF32, dy), params);
  };
  const Im2colBackParams windows = {{.kernel = {3, 2}}, {8, 6}};  // at 6 and 5 positions
  add("im2col_back",
      [=](GraphBuilder& g) {
        return to_image(g, {6, 7, 5}, windows);
      },
      {"dimension 1 of dy is 7, but the number of positions along x is 6"});
  add("im2col_back",
      [=](GraphBuilder& g) {
        return to_image(g, {6, 6, 6}, windows);
      },
      {"dimension 2 of dy is 6, but the number of positions along y is 5"});
  add("im2col_back",
      [=](GraphBuilder& g) {
        return to_image(g, {7, 6, 5}, windows);
      },
      {"dimension 0 of dy is 7, which is not a multiple of the kernel's 6 elements"});
  add("im2col_back",
      [=](GraphBuilder& g) {
        return to_image(g, {6, 6, 5}, {{}, {-1, 6}});
      },
      {"image is [-1, 6], which is negative"});
  add("im2col_back",
      [=](GraphBuilder& g) {
        return to_image(g, {6, 6, 5}, {{.stride = {0, 1}}, {8, 6}});
      },
      {"stride is [0, 1]"});
  const auto turn_back = [](GraphBuilder& g, DType type, RopeParams params) {
    return rope_back(g, leaf(g, kF32, {8, 2, 3}), leaf(g, type, {3}), absent(), params);
  };
  add("rope_back", [=](GraphBuilder& g) { return turn_back(g, kI32, {.dims = 3}); }, {"dims is 3"});
  add("rope_back", [=](GraphBuilder& g) { return turn_back(g, kF32, {.dims = 8}); },
      {"positions is F32 [3], not I32"});
  add("rope_back",
      [=](GraphBuilder& g) {
        return turn_back(g, kI32, {.dims = 8, .mode = RopeMode::kVision, .sections = {2, 2, 0, 0}});
      },
      {"dimension 1 of positions is 1", "positions in mode vision is 4"});
  add("count_equal", [=](GraphBuilder& g) { return count_equal(g, pair_of(g), pair_of(g)); },
      {"a is F32 [4, 2], not I32 or I64"});
  add("count_equal",
      [=](GraphBuilder& g) { return count_equal(g, leaf(g, kI64, {4}), leaf(g, DType::kI8, {4})); },
      {"b is I8 [4], not I32 or I64"});
  add("count_equal",
      [=](GraphBuilder& g) { return count_equal(g, leaf(g, kI32, {4}), leaf(g, kI32, {5})); },
      {"a and b differ in shape: [4] and [5]"});
  add("out_prod",
      [=](GraphBuilder& g) {
        return out_prod(g, leaf(g, kF32, {4, 3}), leaf(g, kF32, {5, 2}));
      },
      {"dimension 1 of b is 2, but that of a is 3"});
  add("out_prod",
      [=](GraphBuilder& g) {
        return out_prod(g, leaf(g, kF32, {4, 3, 2}), leaf(g, kF32, {5, 3, 3}));
      },
      {"dimension 2 of a is 2, which does not divide that of b, 3"});
  add("out_prod",
      [=](GraphBuilder& g) {
        return out_prod(g, leaf(g, kF32, {4, 3}), leaf(g, kF16, {5, 3}));
      },
      {"b is F16 [5, 3], not F32"});
  return calls;
}

}  // namespace shunt
