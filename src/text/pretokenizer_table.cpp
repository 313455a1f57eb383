#include "text/pretokenizer_table.h"

#include <array>

namespace shunt::text {
namespace {

// The expressions are those the models were published with (OpenAI's gpt-2 encoder, and
// tokenizer.json of the others). Text that no expression matches stays a piece of its own, so a
// last "|\s+" may be there or not.

constexpr std::string_view kGpt2[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"};

constexpr std::string_view kLlama3[] = {
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))"
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr std::string_view kQwen2[] = {
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))"
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr std::string_view kDeepseekCoder[] = {
    R"([\r\n])",    R"(\s?\p{L}+)",
    R"(\s?\p{P}+)", R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)",
    R"(\p{N})",
};

// llama.cpp's expressions for files that name no pre-tokenizer; files were made to work with those.
constexpr std::string_view kDefault[] = {
    R"([\p{P}\$\+<=>\^~\|]+)",
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))",
    R"(\p{N}+)",
    R"([0-9][0-9][0-9])",
};

constexpr std::string_view kDefaultNames[] = {"default", ""};
constexpr std::string_view kGpt2Names[] = {"gpt-2", "phi-2"};
constexpr std::string_view kLlama3Names[] = {"llama-bpe", "llama3", "llama-v3"};
constexpr std::string_view kQwen2Names[] = {"qwen2", "deepseek-r1-qwen"};
constexpr std::string_view kDeepseekCoderNames[] = {"deepseek-coder"};

constexpr auto kRules = std::to_array<PretokenizerRule>({
    {.names = kDefaultNames, .patterns = kDefault},
    {.names = kGpt2Names, .patterns = kGpt2},
    {.names = kLlama3Names, .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.names = kQwen2Names, .patterns = kQwen2},
    {.names = kDeepseekCoderNames, .patterns = kDeepseekCoder},
});

}  // namespace

std::span<const PretokenizerRule> pretokenizer_rules() {
  return kRules;
}

}  // namespace shunt::text
