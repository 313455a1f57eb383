// The reasons for which a custom operation is refused.
#include <stdexcept>

#include "unit/ops/bad_calls.h"

namespace shunt {

namespace {

Result<Tensor> same_as_first(std::span<const Tensor> sources) {
  return sources[0];
}

Status nothing(const CustomCall&) {
  return ok();
}

BadCall with(CustomParams params, std::vector<std::string> says) {
  return {"custom",
          [params = std::move(params)](GraphBuilder& g) {
            return custom(g, {leaf(g, kF32, {4, 2})}, params);
          },
          std::move(says)};
}

}  // namespace

std::vector<BadCall> custom_calls() {
  const CustomParams good = {"nothing", same_as_first, nothing, 1};
  return {
      with({"", same_as_first, nothing, 1}, {"F32 [4, 2]", "it has no name"}),
      with({"swirl", same_as_first, {}, 1}, {"swirl has no function"}),
      with({"swirl", same_as_first, nothing, 0}, {"swirl: items is 0"}),
      with({"swirl", same_as_first, nothing, -1}, {"swirl: items is -1"}),
      with({"swirl", same_as_first, nothing, std::int64_t{1} << 31}, {"items is 2147483648"}),
      with({"swirl", CustomShapeRule(), nothing, 1}, {"swirl: it has no rule"}),
      with({"swirl",
            [](std::span<const Tensor>) -> Result<Tensor> {
              return Error(ErrorCode::kInvalidArgument, "only three sources will do");
            },
            nothing, 1},
           {"custom(F32 [4, 2])", "swirl: only three sources will do"}),
      with({"swirl",
            [](std::span<const Tensor>) -> Result<Tensor> { throw std::runtime_error("oh no"); },
            nothing, 1},
           {"swirl: it threw an exception: oh no"}),
      with({"swirl", [](std::span<const Tensor>) -> Result<Tensor> { throw 42; }, nothing, 1},
           {"swirl: it threw an object"}),
      with({"swirl", Tensor{kF32, {-4}, {}}, nothing, 1}, {"dimension 0 is negative"}),
      with({"swirl", Tensor{kQ8_0, {33}, {}}, nothing, 1}, {"whole blocks"}),
      with({"swirl", Tensor{kF32, {Dim(3, 9)}, {}}, nothing, 1},
           {"a dynamic dimension that is not of"}),
      {"custom",
       [=](GraphBuilder& g) {
         return custom(g, std::vector<Result<Value>>(9, leaf(g, kF32, {4})), good);
       },
       {"takes 8 sources, not 9"}},
      {"custom",
       [=](GraphBuilder& g) {
         return custom(g, {leaf(g, kF32, {4}), absent()}, good);
       },
       {"x1 is not given"}},
      {"custom",
       [=](GraphBuilder& g) { return custom(g, {Value{7}}, good); },
       {"#7 is not of this graph"}},
  };
}

}  // namespace shunt
