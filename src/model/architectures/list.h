// The architectures: the name in general.architecture, and the function that describes its files.
// Each is a file of this folder.
#pragma once

#include "model/described_model.h"

#define SHUNT_ARCHITECTURES(X)                 \
  X("llama", describe_llama)                   \
  X("qwen2", describe_qwen2)                   \
  X("qwen2moe", describe_qwen2moe)             \
  X("qwen3", describe_qwen3)                   \
  X("qwen3moe", describe_qwen3moe)             \
  X("gemma2", describe_gemma2)                 \
  X("gemma3", describe_gemma3)                 \
  X("gemma4", describe_gemma4)                 \
  X("phi3", describe_phi3)                     \
  X("granite", describe_granite)               \
  X("granitemoe", describe_granitemoe)         \
  X("smollm3", describe_smollm3)               \
  X("mistral3", describe_mistral3)             \
  X("olmo2", describe_olmo2)                   \
  X("seed_oss", describe_seed_oss)             \
  X("starcoder2", describe_starcoder2)         \
  X("ernie4_5", describe_ernie4_5)             \
  X("hunyuan-dense", describe_hunyuan_dense)   \
  X("exaone4", describe_exaone4)               \
  X("cohere2", describe_cohere2)               \
  X("glm4", describe_glm4)                     \
  X("glm4moe", describe_glm4moe)               \
  X("gpt-oss", describe_gpt_oss)               \
  X("minimax-m2", describe_minimax_m2)         \
  X("deepseek2", describe_deepseek2)           \
  X("llama4", describe_llama4)                 \
  X("lfm2", describe_lfm2)                     \
  X("lfm2moe", describe_lfm2moe)               \
  X("qwen3next", describe_qwen3next)           \
  X("qwen35", describe_qwen35)                 \
  X("qwen35moe", describe_qwen35moe)           \
  X("mamba2", describe_mamba2)                 \
  X("falcon-h1", describe_falcon_h1)           \
  X("granitehybrid", describe_granitehybrid)   \
  X("bert", describe_bert)                     \
  X("nomic-bert", describe_nomic_bert)         \
  X("nomic-bert-moe", describe_nomic_bert_moe) \
  X("modern-bert", describe_modern_bert)       \
  X("eurobert", describe_eurobert)             \
  X("gemma-embedding", describe_gemma_embedding)

namespace shunt {

#define SHUNT_DECLARE(name, describe) Status describe(ArchitectureKeys& keys, Description& model);
SHUNT_ARCHITECTURES(SHUNT_DECLARE)
#undef SHUNT_DECLARE

/// The function that describes an architecture; null: the library does not know it.
Describe find_description(std::string_view architecture);
/// "llama, qwen2, ..."
std::string architecture_names();

}  // namespace shunt
