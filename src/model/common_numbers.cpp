#include "model/common_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/to_size.h"
#include "model/rope_scaling.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// Of the file format, by number.
constexpr std::array kPoolings = {EmbeddingPooling::kNone, EmbeddingPooling::kMean,
                                  EmbeddingPooling::kFirst, EmbeddingPooling::kLast};

/// Under the key of today, or that of older files.
Status read_pooling(ArchitectureKeys& keys, Description& model) {
  for (const char* key : {"pooling_type", "classifier.pooling_type"}) {
    if (!keys.has(key)) continue;
    SHUNT_ASSIGN(const std::int64_t number, keys.count_or_zero(key, kMostOfCount));
    if (number > kRankPooling) {
      return fail(ErrorCode::kUnsupported, "{}: {} is {}; supported are 0 to {}",
                  keys.file().path(), keys.name(key), number, kRankPooling);
    }
    if (number == kRankPooling) continue;  // read_head()
    model.pooling = kPoolings[to_size(number)];
  }
  return ok();
}

}  // namespace

Status read_common(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_pooling(keys, model));
  const gguf::File& file = keys.file();
  // Every layer has tensors of its own: a file can't have more layers than tensors.
  const std::int64_t most_layers =
      keys.of_new_model() ? kMostOfCount : std::max<std::int64_t>(std::ssize(file.tensors()), 1);
  SHUNT_ASSIGN(const std::int64_t layers, keys.count("block_count", most_layers));
  SHUNT_ASSIGN(model.context, keys.count("context_length", kMostOfSize));
  SHUNT_ASSIGN(model.width, keys.count("embedding_length", kMostOfSize));
  model.layers.resize(to_size(layers));
  if (keys.of_new_model()) {
    SHUNT_ASSIGN(model.vocabulary, keys.count("vocab_size", kMostOfSize));
    return ok();
  }
  const std::string embedding = name_of({WeightSlot::kEmbedding}, 0);
  const gguf::TensorInfo* info = file.find_tensor(embedding);
  if (info == nullptr)
    return fail(ErrorCode::kBadFile, "{}: tensor {} is missing", file.path(), embedding);
  model.vocabulary = info->tensor.size(1);
  return ok();
}

Status read_norm(ArchitectureKeys& keys, Description& model, NormKind kind) {
  const char* key = "attention.layer_norm_rms_epsilon";
  const char* other = "attention.layer_norm_epsilon";
  if (kind == NormKind::kLayer) std::swap(key, other);
  (void)keys.has(other);  // files may have both, since published configurations have
  SHUNT_ASSIGN(const double eps, keys.number(key));
  if (!(eps >= 0) || !std::isfinite(eps)) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be at least 0", keys.file().path(),
                keys.name(key), eps);
  }
  model.norm = kind;
  model.norm_eps = static_cast<float>(eps);
  return ok();
}

Status read_attention(ArchitectureKeys& keys, Description& model, RopeMode mode,
                      AttentionLayers which) {
  const std::string& path = keys.file().path();
  const std::size_t layers = model.layers.size();
  SHUNT_ASSIGN(const auto heads, keys.count_by_layer("attention.head_count", layers, kMostOfSize));
  SHUNT_ASSIGN(const auto kv_heads,
               keys.count_by_layer("attention.head_count_kv", layers, kMostOfSize, heads.front()));
  const std::int64_t share = model.width / std::max<std::int64_t>(heads.front(), 1);
  SHUNT_ASSIGN(const std::int64_t key_size, keys.count("attention.key_length", kMostOfSize, share));
  SHUNT_ASSIGN(const std::int64_t value_size,
               keys.count("attention.value_length", kMostOfSize, share));
  SHUNT_ASSIGN(const std::int64_t rope_dims,
               keys.count("rope.dimension_count", key_size, key_size));
  if (rope_dims % 2 != 0) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be even", path,
                keys.name("rope.dimension_count"), rope_dims);
  }
  SHUNT_ASSIGN(const RopeParams rope, read_rope(keys, rope_dims, mode));
  model.rope_pairs = rope_dims / 2;
  for (std::size_t i = 0; i < layers; ++i) {
    if (kv_heads[i] == 0 && which == AttentionLayers::kSome) continue;
    if (kv_heads[i] == 0 || heads[i] == 0) {
      return fail(ErrorCode::kBadFile, "{}: layer {} has {} heads, and {} of keys and values", path,
                  i, heads[i], kv_heads[i]);
    }
    if (heads[i] % kv_heads[i] != 0) {
      return fail(ErrorCode::kBadFile,
                  "{}: {} attention heads can't share {} key/value heads evenly", path, heads[i],
                  kv_heads[i]);
    }
    Attention attention;
    attention.heads = heads[i];
    attention.kv_heads = kv_heads[i];
    attention.key_size = key_size;
    attention.value_size = value_size;
    attention.rope = rope;
    model.layers[i].attention = attention;
  }
  return ok();
}

Result<QueryTemperature> read_temperature(ArchitectureKeys& keys) {
  constexpr const char* kLength = "attention.temperature_length";
  SHUNT_ASSIGN(const float scale, keys.finite("attention.temperature_scale", 0));
  const bool says_length = keys.has(kLength);
  if (scale == 0) return QueryTemperature();
  const char* const key = says_length ? kLength : "rope.scaling.original_context_length";
  SHUNT_ASSIGN(const std::int64_t length, keys.count(key, kMostOfSize));
  return QueryTemperature{.scale = scale, .length = length};
}

Status read_yarn_multiplier(ArchitectureKeys& keys, Description& model) {
  SHUNT_ASSIGN(const float multiplier, keys.finite("rope.scaling.yarn_log_multiplier", 0));
  SHUNT_ASSIGN(const bool is_stated, states_yarn_factor(keys));
  if (multiplier == 0 || is_stated) return ok();
  for (Layer& layer : model.layers) {
    if (!layer.attention || !layer.attention->rope || layer.attention->rope->ext_factor == 0)
      continue;
    RopeParams& rope = *layer.attention->rope;
    rope.attn_factor /= 1 - 0.1F * multiplier * std::log(rope.freq_scale);
  }
  return ok();
}

Status read_feed_forward(ArchitectureKeys& keys, Description& model, Activation activation) {
  // A file whose layers all have experts may not say it.
  if (!keys.has("feed_forward_length") && keys.has("expert_feed_forward_length")) return ok();
  SHUNT_ASSIGN(const auto sizes,
               keys.count_by_layer("feed_forward_length", model.layers.size(), kMostOfSize));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      return fail(ErrorCode::kBadFile, "{}: {} of layer {} is 0", keys.file().path(),
                  keys.name("feed_forward_length"), i);
    }
    model.layers[i].feed_forward = {.size = sizes[i], .activation = activation};
  }
  return ok();
}

namespace {

/// Gates and what they gate are one tensor if the file has it so.
void add_expert_weights(const ArchitectureKeys& keys, Description& model, bool fused_if_new) {
  const std::string both = name_of({WeightSlot::kExpertGateUp}, std::ssize(model.layers) - 1);
  const bool is_fused =
      keys.of_new_model() ? fused_if_new : keys.file().find_tensor(both) != nullptr;
  for (Layer& layer : model.layers) {
    if (layer.experts) layer.experts->fused = is_fused;
  }
  model.add({{WeightSlot::kRouter}});
  if (is_fused) {
    model.add({{WeightSlot::kExpertGateUp}});
  } else {
    model.add({{WeightSlot::kExpertGate}, {WeightSlot::kExpertUp}});
  }
  model.add({{WeightSlot::kExpertDown}});
}

}  // namespace

Status read_experts(ArchitectureKeys& keys, Description& model, const ReadExperts& how) {
  const std::string& path = keys.file().path();
  const std::string apart = fmt::format("blk.{}.ffn_down.0.weight", std::ssize(model.layers) - 1);
  if (keys.file().find_tensor(apart) != nullptr) {
    return fail(ErrorCode::kUnsupported,
                "{}: tensor {} is of a form of 2023; `shunt convert {} OUT` makes one tensor of "
                "the experts of a layer",
                path, apart, path);
  }
  Experts experts;
  SHUNT_ASSIGN(experts.count, keys.count("expert_count", kMostOfSize));
  constexpr std::int64_t kMostUsed = 1024;  // far above any model
  SHUNT_ASSIGN(experts.used, keys.count("expert_used_count", std::min(experts.count, kMostUsed)));
  const std::int64_t dense = model.layers[0].feed_forward ? model.layers[0].feed_forward->size : 0;
  const std::int64_t usual = how.parts ? dense / experts.used : dense;
  SHUNT_ASSIGN(experts.size, keys.count("expert_feed_forward_length", kMostOfSize,
                                        usual > 0 ? std::optional(usual) : std::nullopt));
  SHUNT_ASSIGN(const std::int64_t first,
               keys.count_or_zero("leading_dense_block_count", std::ssize(model.layers)));
  // Of the file format: 1 is the softmax of all logits, 2 sigmoids.
  // 3 is the softmax of those used, which is normalized; 0 says nothing.
  constexpr std::int64_t kSigmoidNumber = 2;
  constexpr std::int64_t kMostNumber = 3;
  SHUNT_ASSIGN(const std::int64_t function, keys.count_or_zero("expert_gating_func", kMostNumber));
  experts.routing = how.routing;
  if (function != 0)
    experts.routing = function == kSigmoidNumber ? Routing::kSigmoid : Routing::kSoftmax;
  SHUNT_ASSIGN(experts.normalized, keys.flag_or("expert_weights_norm", how.normalized));
  SHUNT_ASSIGN(experts.weight_scale, keys.finite("expert_weights_scale", 1));
  if (experts.weight_scale == 0) experts.weight_scale = 1;  // how some writers say "none"
  experts.activation = how.activation;
  experts.least_sum = how.least_sum;
  if (how.grouped) {
    const bool says_groups = keys.has("expert_group_count");
    SHUNT_ASSIGN(experts.groups, keys.count("expert_group_count", experts.count, how.groups));
    SHUNT_ASSIGN(experts.groups_used, keys.count("expert_group_used_count", experts.groups,
                                                 says_groups ? experts.groups : how.groups_used));
    if (experts.count % experts.groups != 0) {
      return fail(ErrorCode::kBadFile, "{}: {} experts are not in {} groups of the same size", path,
                  experts.count, experts.groups);
    }
    if (experts.used > experts.count / experts.groups * experts.groups_used) {
      return fail(ErrorCode::kBadFile, "{}: {} experts are used, but {} of {} groups have {}", path,
                  experts.used, experts.groups_used, experts.groups,
                  experts.count / experts.groups * experts.groups_used);
    }
  }
  for (std::size_t i = to_size(first); i < model.layers.size(); ++i) {
    model.layers[i].experts = experts;
    model.layers[i].feed_forward.reset();
  }
  add_expert_weights(keys, model, how.fused_if_new);
  return ok();
}

namespace {

/// By layer; empty: the file does not say.
Result<std::vector<bool>> read_window_pattern(ArchitectureKeys& keys, std::size_t layers,
                                              WholeLayer whole) {
  constexpr const char* kPattern = "attention.sliding_window_pattern";
  const gguf::Value* const value = keys.file().find(keys.name(kPattern));
  if (value == nullptr || std::holds_alternative<std::shared_ptr<const gguf::Array>>(value->data))
    return keys.flag_by_layer(kPattern, layers);
  SHUNT_ASSIGN(const std::int64_t period, keys.count(kPattern, kMostOfCount));
  const std::int64_t whole_layer = whole == WholeLayer::kFirst ? 0 : period - 1;
  std::vector<bool> windowed;
  windowed.reserve(layers);
  for (std::int64_t layer = 0; layer < static_cast<std::int64_t>(layers); ++layer)
    windowed.push_back(layer % period != whole_layer);
  return windowed;
}

}  // namespace

Status read_windows(ArchitectureKeys& keys, Description& model,
                    bool (*windowed)(std::int64_t layer), std::int64_t fallback, WholeLayer whole) {
  constexpr const char* kWindow = "attention.sliding_window";
  std::int64_t window = std::max<std::int64_t>(fallback, 0);
  if (keys.has(kWindow)) {
    SHUNT_ASSIGN(window, keys.count_or_zero(kWindow, kMostOfSize));
  }
  SHUNT_ASSIGN(const auto pattern, read_window_pattern(keys, model.layers.size(), whole));
  if (window == 0 && fallback != 0) {
    return fail(ErrorCode::kBadFile, "{}: {} is missing or 0, but some layers have a window",
                keys.file().path(), keys.name(kWindow));
  }
  if (window == 0) return ok();
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const bool in = pattern.empty() ? windowed(static_cast<std::int64_t>(i)) : pattern[i];
    if (!in || !model.layers[i].attention) continue;
    model.layers[i].attention->span = AttentionSpan::kSlidingWindow;
    model.layers[i].attention->window = window;
  }
  return ok();
}

Status become_encoder(ArchitectureKeys& keys, Description& model) {
  SHUNT_ASSIGN(const bool causal, keys.flag_or("attention.causal", false));
  if (causal) {
    return fail(ErrorCode::kUnsupported, "{}: {} is true; an encoder's tokens see all others",
                keys.file().path(), keys.name("attention.causal"));
  }
  model.is_encoder = true;
  for (Layer& layer : model.layers) {
    Attention& attention = *layer.attention;
    attention.span = attention.span == AttentionSpan::kSlidingWindow
                         ? AttentionSpan::kBidirectionalWindow
                         : AttentionSpan::kBidirectional;
  }
  return ok();
}

namespace {

constexpr const char* kWindowBase = "rope.freq_base_swa";

/// Calls change(rope, base) for layers with windows that have a rope.
template <class Change>
Status change_window_rope(ArchitectureKeys& keys, Description& model,
                          std::optional<double> fallback, const Change& change) {
  SHUNT_ASSIGN(const float base, keys.finite(kWindowBase, fallback));
  if (!(base > 0)) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be above 0", keys.file().path(),
                keys.name(kWindowBase), base);
  }
  for (Layer& layer : model.layers) {
    if (!layer.attention || !layer.attention->rope) continue;
    if (layer.attention->span == AttentionSpan::kSlidingWindow)
      change(*layer.attention->rope, base);
  }
  return ok();
}

}  // namespace

Status read_window_rope(ArchitectureKeys& keys, Description& model, float fallback) {
  return change_window_rope(keys, model, fallback, [](RopeParams& rope, float base) {
    rope = {.dims = rope.dims, .mode = rope.mode, .freq_base = base};
  });
}

Status read_window_base(ArchitectureKeys& keys, Description& model) {
  if (!keys.has(kWindowBase)) return ok();
  return change_window_rope(keys, model, {},
                            [](RopeParams& rope, float base) { rope.freq_base = base; });
}

namespace {

/// Layers that predict further tokens have tensors "nextn", if they are in the file.
Status expect_prediction_layer(const gguf::File& file, std::int64_t layer) {
  const std::string prefix = fmt::format("blk.{}.", layer);
  bool is_there = false;
  for (const gguf::TensorInfo& info : file.tensors()) {
    if (!info.name.starts_with(prefix)) continue;
    is_there = true;
    if (info.name.starts_with(prefix + "nextn.")) return ok();
  }
  if (!is_there) return ok();
  return fail(ErrorCode::kBadFile,
              "{}: layer {} has no tensors nextn, but by nextn_predict_layers it predicts further "
              "tokens",
              file.path(), layer);
}

}  // namespace

Status skip_prediction_layers(ArchitectureKeys& keys, Description& model) {
  const std::int64_t layers = std::ssize(model.layers);
  SHUNT_ASSIGN(model.skipped_layers, keys.count_or_zero("nextn_predict_layers", layers - 1));
  for (std::int64_t i = layers - model.skipped_layers; i < layers; ++i)
    SHUNT_TRY(expect_prediction_layer(keys.file(), i));
  model.layers.resize(model.layers.size() - to_size(model.skipped_layers));
  return ok();
}

void add_decoder_weights(Description& model) {
  model.add({{WeightSlot::kEmbedding},
             {WeightSlot::kOutputNorm},
             {WeightSlot::kOutput, Need::kOptional},
             {WeightSlot::kMixNorm},
             {WeightSlot::kQuery},
             {WeightSlot::kKey},
             {WeightSlot::kValue},
             {WeightSlot::kMix},
             {WeightSlot::kFeedNorm},
             {WeightSlot::kGate},
             {WeightSlot::kUp},
             {WeightSlot::kDown}});
}

Need need_as_in_others(const ArchitectureKeys& keys, const Description& model, WeightSlot slot) {
  for (std::int64_t layer = 0; layer < std::ssize(model.layers); ++layer) {
    if (keys.file().find_tensor(name_of({slot}, layer)) != nullptr) return Need::kNeeded;
  }
  return Need::kOptional;
}

void add_query_biases(Description& model, Need need) {
  model.add({{WeightSlot::kQueryBias, need},
             {WeightSlot::kKeyBias, need},
             {WeightSlot::kValueBias, need}});
}

Status read_shared_expert(ArchitectureKeys& keys, Description& model) {
  SHUNT_ASSIGN(const std::int64_t count, keys.count_or_zero("expert_shared_count", kMostOfCount));
  SHUNT_ASSIGN(const std::int64_t size,
               keys.count_or_zero("expert_shared_feed_forward_length", kMostOfSize));
  for (Layer& layer : model.layers) {
    if (layer.experts) layer.experts->shared_size = size > 0 ? size : count * layer.experts->size;
  }
  add_shared_expert_weights(model);
  return ok();
}

void add_shared_expert_weights(Description& model) {
  model.add({{WeightSlot::kSharedGate}, {WeightSlot::kSharedUp}, {WeightSlot::kSharedDown}});
}

}  // namespace shunt
