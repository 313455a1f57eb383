// Llama: rotary positions, RMS norms, grouped-query attention, a gated feed-forward.
#include "model/llama.h"

#include <algorithm>
#include <cmath>

#include "model/rope_scaling.h"
#include "shunt/message.h"

namespace shunt::llama {

namespace {

using Row = WeightRow<Numbers>;
using N = Numbers;
constexpr bool kOptional = true;
constexpr bool kNeeded = false;

/// In the order of Weight.
constexpr std::array kTable = {
    Row{"token_embd.weight", {&N::width, &N::vocabulary}, kNeeded, WeightRole::kEmbedding},
    Row{"output_norm.weight", {&N::width, nullptr}},
    // Missing: the embedding does it.
    Row{"output.weight", {&N::width, &N::vocabulary}, kOptional, WeightRole::kOutput},
    Row{"rope_freqs.weight", {&N::rope_pairs, nullptr}, kOptional},
    Row{"blk.{}.attn_norm.weight", {&N::width, nullptr}},
    Row{"blk.{}.attn_q.weight", {&N::width, &N::query_width}, kNeeded, WeightRole::kQuery},
    Row{"blk.{}.attn_q.bias", {&N::query_width, nullptr}, kOptional},
    Row{"blk.{}.attn_k.weight", {&N::width, &N::key_width}, kNeeded, WeightRole::kKey},
    Row{"blk.{}.attn_k.bias", {&N::key_width, nullptr}, kOptional},
    Row{"blk.{}.attn_v.weight", {&N::width, &N::value_width}, kNeeded, WeightRole::kValue},
    Row{"blk.{}.attn_v.bias", {&N::value_width, nullptr}, kOptional},
    Row{"blk.{}.attn_output.weight", {&N::mixed_width, &N::width}, kNeeded, WeightRole::kMix},
    Row{"blk.{}.attn_output.bias", {&N::width, nullptr}, kOptional},
    Row{"blk.{}.ffn_norm.weight", {&N::width, nullptr}},
    Row{"blk.{}.ffn_gate.weight", {&N::width, &N::feed_forward}, kNeeded, WeightRole::kGate},
    Row{"blk.{}.ffn_gate.bias", {&N::feed_forward, nullptr}, kOptional},
    Row{"blk.{}.ffn_up.weight", {&N::width, &N::feed_forward}, kNeeded, WeightRole::kUp},
    Row{"blk.{}.ffn_up.bias", {&N::feed_forward, nullptr}, kOptional},
    Row{"blk.{}.ffn_down.weight", {&N::feed_forward, &N::width}, kNeeded, WeightRole::kDown},
    Row{"blk.{}.ffn_down.bias", {&N::width, nullptr}, kOptional},
};

}  // namespace

std::span<const WeightRow<Numbers>> weight_table() {
  return kTable;
}

Result<std::unique_ptr<ModelDefinition>> Definition::read(const gguf::File& file) {
  std::unique_ptr<Definition> model(new Definition(file));
  SHUNT_TRY(model->read_numbers());
  SHUNT_ASSIGN(model->weights_,
               find_weights<Numbers>(file, kTable, model->n_, model->shape_.layers));
  return model;
}

std::vector<ModelWeight> Definition::weights() const {
  std::vector<ModelWeight> weights = list_weights<Numbers>(weights_, kTable);
  if (weights_[kOutput][0] != nullptr) return weights;
  for (ModelWeight& weight : weights) {
    if (weight.role == WeightRole::kEmbedding) weight.role = WeightRole::kOutput;
  }
  return weights;
}

std::shared_ptr<const ModelDefinition> Definition::with_output_apart() const {
  if (weights_[kOutput][0] != nullptr) return nullptr;
  std::unique_ptr<Definition> apart(new Definition(file_));
  apart->shape_ = shape_;
  apart->n_ = n_;
  apart->rope_ = rope_;
  apart->norm_eps_ = norm_eps_;
  apart->weights_ = weights_;
  apart->output_ = *weights_[kEmbedding][0];
  apart->weights_[kOutput][0] = &apart->output_;
  return apart;
}

std::vector<SplitGroup> Definition::split_groups() const {
  constexpr std::size_t kColumns = 0;
  constexpr std::size_t kRows = 1;
  constexpr std::size_t kElements = 0;
  struct Cut {
    Weight weight;
    std::size_t dim;
  };
  const auto group = [&](std::string name, std::string units_name, std::int64_t units,
                         std::initializer_list<Cut> cuts, std::int64_t layer) {
    SplitGroup made{std::move(name), std::move(units_name), units, {}};
    for (const Cut& cut : cuts) {
      const gguf::TensorInfo* info = find(cut.weight, layer);
      if (info != nullptr) made.weights.push_back({info, cut.dim});
    }
    return made;
  };
  std::vector<SplitGroup> groups;
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    groups.push_back(group(fmt::format("layer {}, attention", layer), "heads of keys and values",
                           n_.kv_heads,
                           {{kQuery, kRows},
                            {kQueryBias, kElements},
                            {kKey, kRows},
                            {kKeyBias, kElements},
                            {kValue, kRows},
                            {kValueBias, kElements},
                            {kMix, kColumns}},
                           layer));
    groups.push_back(group(fmt::format("layer {}, feed-forward", layer), "rows", n_.feed_forward,
                           {{kGate, kRows},
                            {kGateBias, kElements},
                            {kUp, kRows},
                            {kUpBias, kElements},
                            {kDown, kColumns}},
                           layer));
  }
  if (weights_[kOutput][0] != nullptr) {
    groups.push_back(group("output", "rows", n_.vocabulary, {{kOutput, kRows}}, 0));
  }
  return groups;
}

Status Definition::read_numbers() {
  // A number of the file from 1 to `max`.
  const auto count = [&](const char* key, std::int64_t max,
                         std::optional<std::int64_t> fallback = {}) -> Result<std::int64_t> {
    const std::string full = fmt::format("llama.{}", key);
    std::int64_t value = 0;
    if (fallback) {
      SHUNT_ASSIGN(value, file_.get_integer_or(full, *fallback));
    } else {
      SHUNT_ASSIGN(value, file_.get_integer(full));
    }
    if (value >= 1 && value <= max) return value;
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be from 1 to {}", file_.path(), full,
                value, max);
  };
  constexpr std::int64_t kMax = std::int64_t{1} << 30;  // no product of two overflows
  // Every layer has tensors of its own: a file can't have more layers than tensors.
  const auto most_layers =
      static_cast<std::int64_t>(std::max<std::size_t>(file_.tensors().size(), 1));
  SHUNT_ASSIGN(shape_.layers, count("block_count", most_layers));
  SHUNT_ASSIGN(shape_.context, count("context_length", kMax));
  SHUNT_ASSIGN(n_.width, count("embedding_length", kMax));
  SHUNT_ASSIGN(n_.feed_forward, count("feed_forward_length", kMax));
  SHUNT_ASSIGN(n_.heads, count("attention.head_count", kMax));
  SHUNT_ASSIGN(n_.kv_heads, count("attention.head_count_kv", kMax, n_.heads));
  if (n_.heads % n_.kv_heads != 0) {
    return fail(ErrorCode::kBadFile, "{}: {} attention heads can't share {} key/value heads evenly",
                file_.path(), n_.heads, n_.kv_heads);
  }
  const std::int64_t head_size = n_.width / n_.heads;
  SHUNT_ASSIGN(n_.key_size, count("attention.key_length", kMax, head_size));
  SHUNT_ASSIGN(n_.value_size, count("attention.value_length", kMax, head_size));
  SHUNT_ASSIGN(const std::int64_t rope_dims,
               count("rope.dimension_count", n_.key_size, n_.key_size));
  if (rope_dims % 2 != 0) {
    return fail(ErrorCode::kBadFile, "{}: llama.rope.dimension_count is {}; it must be even",
                file_.path(), rope_dims);
  }
  SHUNT_ASSIGN(const double eps, file_.get_number("llama.attention.layer_norm_rms_epsilon"));
  if (!(eps >= 0) || !std::isfinite(eps)) {
    return fail(ErrorCode::kBadFile,
                "{}: llama.attention.layer_norm_rms_epsilon is {}; it must be at least 0",
                file_.path(), eps);
  }
  norm_eps_ = static_cast<float>(eps);
  SHUNT_ASSIGN(rope_, read_rope(file_, "llama", rope_dims, RopeMode::kNormal));
  const gguf::TensorInfo* embedding = file_.find_tensor(kTable[kEmbedding].name);
  if (embedding == nullptr) {
    return fail(ErrorCode::kBadFile, "{}: tensor {} is missing", file_.path(),
                kTable[kEmbedding].name);
  }
  n_.vocabulary = embedding->tensor.size(1);
  n_.query_width = n_.heads * n_.key_size;
  n_.key_width = n_.kv_heads * n_.key_size;
  n_.value_width = n_.kv_heads * n_.value_size;
  n_.mixed_width = n_.heads * n_.value_size;
  n_.rope_pairs = rope_dims / 2;
  shape_.width = n_.width;
  shape_.vocabulary = n_.vocabulary;
  return ok();
}

}  // namespace shunt::llama

namespace shunt {

Result<std::unique_ptr<ModelDefinition>> read_llama(const gguf::File& file) {
  return llama::Definition::read(file);
}

}  // namespace shunt
