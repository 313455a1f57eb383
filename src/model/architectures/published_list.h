// The functions that say how models are published, one a file of this folder.
#pragma once

#include <functional>

#include "model/published.h"

#define SHUNT_PUBLISHERS(X) \
  X(llama)                  \
  X(mistral3)               \
  X(qwen2)                  \
  X(qwen2moe)               \
  X(qwen3)                  \
  X(qwen3moe)               \
  X(gemma2)                 \
  X(gemma3)                 \
  X(gemma4)                 \
  X(phi3)                   \
  X(granite)                \
  X(smollm3)                \
  X(olmo2)                  \
  X(seed_oss)               \
  X(starcoder2)             \
  X(ernie4_5)               \
  X(hunyuan_dense)          \
  X(exaone4)                \
  X(cohere2)                \
  X(glm4)                   \
  X(glm4moe)                \
  X(gpt_oss)                \
  X(minimax_m2)             \
  X(deepseek2)              \
  X(llama4)                 \
  X(lfm2)                   \
  X(qwen3next)              \
  X(qwen35)                 \
  X(mamba2)                 \
  X(falcon_h1)              \
  X(granitehybrid)          \
  X(bert)                   \
  X(nomic_bert)             \
  X(modern_bert)            \
  X(eurobert)               \
  X(gemma_embedding)

namespace shunt {

#define SHUNT_DECLARE(name) std::vector<Published> publish_##name();
SHUNT_PUBLISHERS(SHUNT_DECLARE)
#undef SHUNT_DECLARE

/// All kinds of folders.
std::span<const Published> published_models();
/// Null for another model_type. `is_true`: whether a flag of config.json is.
const Published* find_published(std::string_view type,
                                const std::function<bool(std::string_view flag)>& is_true);

}  // namespace shunt
