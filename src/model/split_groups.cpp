// The weights of a described model that can be split among devices.
#include "model/described_model.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::size_t kColumns = 0;
constexpr std::size_t kRows = 1;
constexpr std::size_t kElements = 0;

struct Cut {
  WeightSlot slot;
  std::size_t dim;
};

constexpr Cut kAttentionCuts[] = {
    {WeightSlot::kQuery, kRows},  {WeightSlot::kQueryBias, kElements},
    {WeightSlot::kKey, kRows},    {WeightSlot::kKeyBias, kElements},
    {WeightSlot::kValue, kRows},  {WeightSlot::kValueBias, kElements},
    {WeightSlot::kMix, kColumns},
};
/// A layer with one of these has attention that heads do not compute alone.
constexpr WeightSlot kUncuttable[] = {WeightSlot::kQueryKeyValue, WeightSlot::kFullQueryNorm,
                                      WeightSlot::kFullKeyNorm, WeightSlot::kSinks};
constexpr Cut kFeedForwardCuts[] = {
    {WeightSlot::kGate, kRows},       {WeightSlot::kGateBias, kElements}, {WeightSlot::kUp, kRows},
    {WeightSlot::kUpBias, kElements}, {WeightSlot::kDown, kColumns},
};
constexpr Cut kOutputCuts[] = {{WeightSlot::kOutput, kRows}};

SplitGroup group(const DescribedModel& model, std::string name, std::string units_name,
                 std::int64_t units, std::span<const Cut> cuts, std::int64_t layer) {
  SplitGroup made{std::move(name), std::move(units_name), units, {}};
  for (const Cut& cut : cuts) {
    const gguf::TensorInfo* info = model.find(cut.slot, layer);
    if (info != nullptr) made.weights.push_back({info, cut.dim});
  }
  return made;
}

bool heads_are_alone(const DescribedModel& model, const Attention& attention, std::int64_t layer) {
  if (attention.gated || attention.keys_of >= 0) return false;
  for (const WeightSlot slot : kUncuttable) {
    if (model.find(slot, layer) != nullptr) return false;
  }
  return true;
}

}  // namespace

std::vector<SplitGroup> DescribedModel::split_groups() const {
  std::vector<SplitGroup> groups;
  for (std::int64_t number = 0; number < shape_.layers; ++number) {
    const Layer& layer = model_.layers[to_size(number)];
    if (layer.attention && heads_are_alone(*this, *layer.attention, number)) {
      groups.push_back(group(*this, fmt::format("layer {}, attention", number),
                             "heads of keys and values", layer.attention->kv_heads, kAttentionCuts,
                             number));
    }
    if (layer.feed_forward && !layer.feed_forward->fused) {
      groups.push_back(group(*this, fmt::format("layer {}, feed-forward", number), "rows",
                             layer.feed_forward->size, kFeedForwardCuts, number));
    }
  }
  if (!embeddings_ && find(WeightSlot::kOutput) != nullptr)
    groups.push_back(group(*this, "output", "rows", model_.vocabulary, kOutputCuts, 0));
  return groups;
}

}  // namespace shunt
