#include "text/pretokenizer_table.h"

#include <array>

#include "text/pretokenizer_patterns.h"

namespace shunt::text {
namespace {

using namespace pretokenizer_patterns;

// Names of tokenizer.ggml.pre, by rule.
constexpr std::string_view kDefaultNames[] = {"default", ""};
constexpr std::string_view kGpt2Names[] = {
    "gpt-2",   "phi-2",  "jina-es", "jina-de",         "jina-v2-es", "jina-v2-de", "gigachat",
    "a.x-4.0", "mellum", "exaone4", "granite-docling", "trillion",   "jais"};
constexpr std::string_view kRobertaNames[] = {"roberta-bpe", "jina-v1-en", "jina-v2-code"};
constexpr std::string_view kNeoxNames[] = {"olmo", "mpt", "modern-bert"};
constexpr std::string_view kLlama3Names[] = {"llama-bpe", "llama3",      "llama-v3", "falcon3",
                                             "falcon-h1", "pixtral",     "midm-2.0", "lfm2",
                                             "arcee",     "jina-v5-nano"};
constexpr std::string_view kDbrxNames[] = {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"};
constexpr std::string_view kJais2Names[] = {"jais-2"};
constexpr std::string_view kQwen2Names[] = {"qwen2", "deepseek-r1-qwen", "megrez",
                                            "kormo", "stablelm2",        "f2llmv2"};
constexpr std::string_view kQwen35Names[] = {"qwen35"};
constexpr std::string_view kSingleDigitNames[] = {"hunyuan", "grok-2", "solar-open"};
constexpr std::string_view kBailingNames[] = {"bailingmoe", "bailingmoe2", "llada-moe"};
constexpr std::string_view kSeedCoderNames[] = {"seed-coder"};
constexpr std::string_view kDeepseekLlmNames[] = {"deepseek-llm"};
constexpr std::string_view kDeepseekCoderNames[] = {"deepseek-coder"};
constexpr std::string_view kDeepseek3Names[] = {"deepseek-v3", "hunyuan-dense", "joyai-llm"};
constexpr std::string_view kYoutuNames[] = {"youtu"};
constexpr std::string_view kAfmoeNames[] = {"afmoe"};
constexpr std::string_view kFalconNames[] = {"falcon"};
constexpr std::string_view kStarcoderNames[] = {"starcoder", "refact", "command-r", "smollm",
                                                "codeshell", "exaone", "minerva-7b"};
constexpr std::string_view kBloomNames[] = {"bloom", "poro-chat", "gpt3-finnish"};
constexpr std::string_view kVikingNames[] = {"viking"};
constexpr std::string_view kTekkenNames[] = {"tekken"};
constexpr std::string_view kGpt4oNames[] = {"gpt-4o", "llama4", "kanana2", "minimax-m2"};
constexpr std::string_view kTinyAyaNames[] = {"tiny_aya"};
constexpr std::string_view kKimiK2Names[] = {"kimi-k2", "kimi-k25"};
constexpr std::string_view kSuperBpeNames[] = {"superbpe"};
constexpr std::string_view kChameleonNames[] = {"chameleon"};
constexpr std::string_view kExaoneMoeNames[] = {"exaone-moe"};

constexpr auto kRules = std::to_array<PretokenizerRule>({
    {.names = kDefaultNames, .patterns = kDefault},
    {.names = kGpt2Names, .patterns = kGpt2},
    {.names = kRobertaNames, .patterns = kGpt2, .add_bos = true, .add_eos = true},
    {.names = kNeoxNames, .patterns = kGpt2, .nfc = true},
    {.names = kLlama3Names, .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.names = kDbrxNames, .patterns = kLlama3},
    {.names = kJais2Names, .patterns = kJais2},
    {.names = kQwen2Names, .patterns = kQwen2, .nfc = true},
    {.names = kQwen35Names, .patterns = kQwen35, .nfc = true},
    {.names = kSingleDigitNames, .patterns = kQwen2},
    {.names = kBailingNames, .patterns = kBailing},
    {.names = kSeedCoderNames, .patterns = kSeedCoder},
    {.names = kDeepseekLlmNames, .patterns = kDeepseekLlm},
    {.names = kDeepseekCoderNames, .patterns = kDeepseekCoder},
    {.names = kDeepseek3Names, .patterns = kDeepseek3},
    {.names = kYoutuNames, .patterns = kYoutu, .ignore_merges = true},
    {.names = kAfmoeNames, .patterns = kAfmoe},
    {.names = kFalconNames, .patterns = kFalcon},
    {.names = kStarcoderNames, .patterns = kStarcoder},
    {.names = kBloomNames, .patterns = kBloom},
    {.names = kVikingNames, .patterns = kViking},
    {.names = kTekkenNames, .patterns = kTekken, .ignore_merges = true, .add_bos = true},
    {.names = kGpt4oNames, .patterns = kGpt4o},
    {.names = kTinyAyaNames, .patterns = kTinyAya},
    {.names = kKimiK2Names, .patterns = kKimiK2},
    {.names = kSuperBpeNames, .patterns = kSuperBpe},
    {.names = kChameleonNames, .patterns = kChameleon, .ignore_merges = true, .add_bos = true},
    {.names = kExaoneMoeNames, .patterns = kExaoneMoe},
});

}  // namespace

std::span<const PretokenizerRule> pretokenizer_rules() {
  return kRules;
}

}  // namespace shunt::text
