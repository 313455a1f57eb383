// Phi 3 and 4 (arXiv 2404.14219): one matrix makes queries, keys and values, another one the gate
// and what it gates. LongRoPE (arXiv 2402.13753) has two lists of frequency factors.
#include <algorithm>
#include <array>

#include "model/architectures/describe.h"
#include "model/published.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// A model that was published with a window in its config.json before files had a key for it.
struct FirstModel {
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t context = 0;
  std::int64_t window = 0;
};
/// Phi-3-mini-4k and Phi-3-medium-4k. The windows of the others are not shorter than their
/// contexts.
constexpr std::array kFirstModels = {FirstModel{32, 3072, 32, 32, 4096, 2047},
                                     FirstModel{40, 5120, 40, 10, 4096, 2047}};

/// The window of a file without a key; 0: none.
std::int64_t window_of_first(const Description& model) {
  const Attention& attention = *model.layers[0].attention;
  const auto is_it = [&](const FirstModel& first) {
    return std::ssize(model.layers) == first.layers && model.width == first.width &&
           attention.heads == first.heads && attention.kv_heads == first.kv_heads &&
           model.context == first.context;
  };
  const auto* const found = std::ranges::find_if(kFirstModels, is_it);
  return found == kFirstModels.end() ? 0 : found->window;
}

}  // namespace

Status describe_phi3(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  const bool says_it = keys.has("attention.sliding_window");  // 0: none
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t) { return true; }, says_it ? 0 : window_of_first(model)));
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
