#include "convert/encoder_rules.h"

#include <algorithm>
#include <array>

#include "convert/pooling_keys.h"

namespace shunt {

namespace {

/// A value of classifier_pooling. "late" is the mean over tokens, taken after the head. A head with
/// either mean is refused elsewhere; without one, the mean is that of the embeddings.
struct ClassifierPooling {
  std::string_view name;
  EmbeddingPooling pooling;
};
constexpr std::array kClassifierPoolings = {
    ClassifierPooling{"mean", EmbeddingPooling::kMean},
    ClassifierPooling{"late", EmbeddingPooling::kMean},
    ClassifierPooling{"cls", EmbeddingPooling::kFirst},
    ClassifierPooling{"bos", EmbeddingPooling::kFirst},
};

}  // namespace

Status add_encoder(const Config& config, FileKeys& keys) {
  keys.flag("attention.causal", false);
  if (config.has("type_vocab_size")) {
    SHUNT_ASSIGN(const std::int64_t types, config.count("type_vocab_size"));
    keys.add_whole("tokenizer.ggml.token_type_count",
                   {gguf::ValueType::kU32, static_cast<std::uint64_t>(types)});
  }
  if (!config.has("classifier_pooling")) return ok();
  SHUNT_ASSIGN(const std::string name, config.text("classifier_pooling"));
  const auto* const found = std::ranges::find(kClassifierPoolings, name, &ClassifierPooling::name);
  if (found == kClassifierPoolings.end())
    return config.wrong("classifier_pooling", R"("mean", "late", "cls" or "bos")");
  keys.count(kClassifierPoolingKey, pooling_number(found->pooling));
  return ok();
}

Status add_positions(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t positions, config.count("max_position_embeddings"));
  if (positions < 3) return config.wrong("max_position_embeddings", "a whole number of at least 3");
  keys.count("context_length", positions - 2);
  return ok();
}

}  // namespace shunt
