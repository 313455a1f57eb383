// Phi 3 and 4 (arXiv 2404.14219): one matrix makes queries, keys and values, another one the gate
// and what it gates. LongRoPE (arXiv 2402.13753) has two lists of frequency factors.
#include "model/architectures/describe.h"
#include "model/published.h"
#include "shunt/message.h"

namespace shunt {

Status describe_phi3(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  // Of all published models with that context; their first files lack it.
  constexpr std::int64_t kWindow = 2047;
  constexpr std::int64_t kContextWithWindow = 4096;
  const bool is_known =
      model.context == kContextWithWindow && !keys.has("attention.sliding_window");
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t) { return true; }, is_known ? kWindow : 0));
  SHUNT_ASSIGN(model.long_context,
               keys.count_or_zero("rope.scaling.original_context_length", kMostOfSize));
  const auto has = [&](WeightSlot slot) {
    return keys.file().find_tensor(name_of({slot}, 0)) != nullptr;
  };
  const bool long_factors = has(WeightSlot::kLongRopeFactors);
  if (long_factors != has(WeightSlot::kShortRopeFactors) ||
      (long_factors && model.long_context == 0)) {
    return fail(ErrorCode::kBadFile,
                "{}: LongRoPE needs rope_factors_long.weight, rope_factors_short.weight and {}",
                keys.file().path(), keys.name("rope.scaling.original_context_length"));
  }
  for (Layer& layer : model.layers) layer.feed_forward->fused = true;
  add_decoder_weights(model);
  model.remove({WeightSlot::kQuery, WeightSlot::kKey, WeightSlot::kValue, WeightSlot::kGate});
  model.add({{WeightSlot::kQueryKeyValue},
             {WeightSlot::kLongRopeFactors, Need::kOptional},
             {WeightSlot::kShortRopeFactors, Need::kOptional}});
  return ok();
}

std::vector<Published> publish_phi3() {
  using enum ConfigRule;
  return {
      {.types = "phi3",
       .architecture = "phi3",
       .numbers = decoder_numbers({{"rope.scaling.original_context_length",
                                    "original_max_position_embeddings", ConfigKind::kCount, "-"}}),
       .rules = {kRopeDims, kRope, kWindow},
       .limits = silu_only()}};
}

}  // namespace shunt
