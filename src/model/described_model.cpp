#include "model/described_model.h"

#include <algorithm>

#include "model/classifier_head.h"
#include "model/common_numbers.h"
#include "model/find_weight.h"
#include "shunt/message.h"

namespace shunt {

Result<Description> describe_file(ArchitectureKeys& keys, Describe describe) {
  Description model;
  SHUNT_TRY(read_common(keys, model));
  SHUNT_TRY(describe(keys, model));
  if (!keys.of_new_model()) SHUNT_TRY(read_head(keys, model));
  return model;
}

Result<std::unique_ptr<ModelDefinition>> DescribedModel::read(const gguf::File& file,
                                                              std::string_view architecture,
                                                              Describe describe) {
  std::unique_ptr<DescribedModel> made(new DescribedModel(file, architecture));
  SHUNT_ASSIGN(made->model_, describe_file(made->keys_, describe));
  SHUNT_TRY(made->check_layers());
  SHUNT_TRY(made->find_weights());
  made->measure();
  return made;
}

/// Each layer computes something.
Status DescribedModel::check_layers() const {
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    const Layer& layer = model_.layers[i];
    if (layer.attention || layer.latent_attention || layer.delta_net || layer.state_space ||
        layer.short_convolution)
      continue;
    return fail(ErrorCode::kBadFile,
                "{}: layer {} has no heads of keys and values, which its "
                "architecture needs",
                file_.path(), i);
  }
  return ok();
}

Status DescribedModel::find_weights() {
  for (const WeightRow& row : model_.weights) {
    const SlotFacts& facts = facts_of(row.slot);
    auto& found = weights_[static_cast<std::size_t>(row.slot)];
    const auto add = [&](std::int64_t number, const Layer& layer) -> Status {
      SHUNT_ASSIGN(const gguf::TensorInfo* info,
                   find_weight(file_, name_of(row, number), facts.sizes(model_, layer),
                               row.need == Need::kOptional));
      found.push_back(info);
      return ok();
    };
    if (facts.is_in == nullptr) {
      SHUNT_TRY(add(0, model_.layers[0]));
      continue;
    }
    for (std::int64_t number = 0; number < std::ssize(model_.layers); ++number) {
      const Layer& layer = model_.layers[to_size(number)];
      if (facts.is_in(layer)) {
        SHUNT_TRY(add(number, layer));
      } else {
        found.push_back(nullptr);
      }
    }
  }
  return ok();
}

void DescribedModel::measure() {
  shape_.layers = std::ssize(model_.layers);
  shape_.width = model_.width;
  shape_.vocabulary = model_.vocabulary;
  shape_.context = model_.context;
  shape_.is_encoder = model_.is_encoder;
  shape_.pooling = model_.pooling;
  shape_.head = model_.head;
  shape_.plain_logits = model_.logit_scale == 1 && model_.logit_softcap == 0;
  embeddings_ = model_.is_encoder;
  shape_.gives_embeddings = embeddings_;
  shape_.outputs = embeddings_ ? model_.embedding_size() : model_.vocabulary;
  for (const Layer& layer : model_.layers) {
    shape_.state_bytes +=
        state_numbers(layer, model_.width) * static_cast<std::int64_t>(sizeof(float));
    if (!layer.attention || layer.attention->keys_of >= 0) continue;
    const Attention& attention = *layer.attention;
    if (attention.span != AttentionSpan::kSlidingWindow) continue;
    if (std::ranges::count(shape_.windows, attention.window) == 0)
      shape_.windows.push_back(attention.window);
  }
}

std::vector<ModelWeight> DescribedModel::weights() const {
  const bool tied = find(WeightSlot::kOutput) == nullptr;
  std::vector<ModelWeight> all;
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    const SlotFacts& facts = facts_of(static_cast<WeightSlot>(slot));
    for (std::size_t layer = 0; layer < weights_[slot].size(); ++layer) {
      if (weights_[slot][layer] == nullptr) continue;
      const bool is_output = tied && facts.slot == WeightSlot::kEmbedding;
      all.push_back({weights_[slot][layer], is_output ? WeightRole::kOutput : facts.role,
                     facts.is_in == nullptr ? -1 : static_cast<std::int64_t>(layer)});
    }
  }
  return all;
}

std::string DescribedModel::name(WeightSlot slot, std::int64_t layer) const {
  const auto row = std::ranges::find(model_.weights, slot, &WeightRow::slot);
  return row == model_.weights.end() ? "?" : name_of(*row, layer);
}

Status DescribedModel::give_embeddings() {
  embeddings_ = true;
  shape_.gives_embeddings = true;
  shape_.outputs = model_.embedding_size();
  return ok();
}

bool DescribedModel::may_leave(std::string_view tensor) const {
  const std::int64_t layers = std::ssize(model_.layers);
  // Layers that read the keys and values of others do not need their own.
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto& attention = model_.layers[to_size(i)].attention;
    if (!attention || attention->keys_of < 0) continue;
    for (const WeightSlot slot : {WeightSlot::kKey, WeightSlot::kValue, WeightSlot::kKeyNorm})
      if (tensor == name_of({slot}, i)) return true;
  }
  for (std::int64_t i = 0; i < model_.skipped_layers; ++i) {
    if (tensor.starts_with(fmt::format("blk.{}.", layers + i))) return true;
  }
  return false;
}

std::shared_ptr<const ModelDefinition> DescribedModel::with_output_apart() const {
  if (embeddings_ || find(WeightSlot::kOutput) != nullptr) return nullptr;
  std::unique_ptr<DescribedModel> apart(new DescribedModel(file_, {}));
  apart->keys_ = keys_;
  apart->model_ = model_;
  apart->shape_ = shape_;
  apart->weights_ = weights_;
  apart->adapters_ = adapters_;
  apart->output_ = *find(WeightSlot::kEmbedding);
  apart->weights_[static_cast<std::size_t>(WeightSlot::kOutput)] = {&apart->output_};
  return apart;
}

}  // namespace shunt
