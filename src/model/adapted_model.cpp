// A described model with adapters.
#include <algorithm>
#include <set>

#include "model/described_model.h"
#include "shunt/message.h"

namespace shunt {

Result<AdaptedWeight> DescribedModel::find_adapted(std::string_view name) const {
  for (const WeightRow& row : model_.weights) {
    const SlotFacts& facts = facts_of(row.slot);
    const std::int64_t layers = facts.is_in == nullptr ? 1 : std::ssize(model_.layers);
    for (std::int64_t number = 0; number < layers; ++number) {
      const Layer& layer = model_.layers[to_size(number)];
      if (facts.is_in != nullptr && !facts.is_in(layer)) continue;
      if (name_of(row, number) != name) continue;
      const bool tied = find(WeightSlot::kOutput) == nullptr;
      // An output that is the embedding can be changed alone.
      const bool is_there =
          find(row.slot, number) != nullptr || (row.slot == WeightSlot::kOutput && tied);
      if (!is_there) break;
      const bool is_embedding = row.slot == WeightSlot::kEmbedding;
      return AdaptedWeight{.slot = row.slot,
                           .layer = number,
                           .sizes = facts.sizes(model_, layer),
                           .is_embedding = is_embedding,
                           .is_output = is_embedding && tied && !embeddings_};
    }
  }
  return fail(ErrorCode::kNotFound, "is for a tensor {}, which the model lacks",
              gguf::printable(name));
}

/// A step reads the matrices of all adapters, but for those of logits that are not made.
Status DescribedModel::check_adapters_are_used(std::span<const AdapterFile> files) const {
  auto built = build({});
  if (!built) return std::move(built.error()).with_context(name_of_all(files));
  const StepGraph& step = *built;
  std::set<const gguf::TensorInfo*> used;
  for (const WeightLeaf& weight : step.weights) used.insert(weight.info);
  for (const AdapterFile& adapter : files) {
    for (const AdapterPair& pair : adapter.pairs) {
      SHUNT_ASSIGN(const AdaptedWeight weight, find_adapted(pair.weight));
      if (embeddings_ && weight.slot == WeightSlot::kOutput) continue;
      const auto stacks = adapters_->of(weight.slot, weight.layer);
      const auto is_used = [&](const AdapterStack& stack) { return used.contains(stack.a); };
      if (std::ranges::all_of(stacks, is_used)) continue;
      return fail(ErrorCode::kUnsupported,
                  "{}: tensor {} is for {}, but only matrices of products and token embeddings can "
                  "have adapters",
                  adapter.info.path, pair.a->name, pair.weight);
    }
  }
  return ok();
}

Result<std::shared_ptr<const AdapterStacks>> DescribedModel::adapt(
    std::span<const AdapterFile> files, std::uint32_t part) {
  SHUNT_ASSIGN(adapters_,
               AdapterStacks::make(
                   files, [&](std::string_view name) { return find_adapted(name); }, part));
  if (!files.empty()) SHUNT_TRY(check_adapters_are_used(files));
  return adapters_;
}

}  // namespace shunt
