// The keys of a tokenizer in GGUF's metadata, for the reader and the writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shunt/text.h"

namespace shunt::vocabulary_keys {

inline constexpr std::string_view kModel = "tokenizer.ggml.model";
inline constexpr std::string_view kPre = "tokenizer.ggml.pre";
inline constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
inline constexpr std::string_view kScores = "tokenizer.ggml.scores";
inline constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
inline constexpr std::string_view kMerges = "tokenizer.ggml.merges";
inline constexpr std::string_view kCharsmap = "tokenizer.ggml.precompiled_charsmap";
/// Shunt's own: AddedTokenRules of each token as bits 0 to 2, in the order of the members.
inline constexpr std::string_view kRules = "tokenizer.shunt.added_token_rules";

/// Shunt's own: WordPiece with two separators between two texts, as RoBERTa's kind has them.
inline constexpr std::string_view kTwoSeparators = "tokenizer.shunt.two_separators";

struct IdKey {
  std::string_view key;
  std::optional<std::int32_t> text::Vocabulary::*field;
  bool only_read = false;  ///< another spelling of the one before it
};
inline constexpr IdKey kIdKeys[] = {
    {"tokenizer.ggml.bos_token_id", &text::Vocabulary::bos},
    {"tokenizer.ggml.eos_token_id", &text::Vocabulary::eos},
    {"tokenizer.ggml.unknown_token_id", &text::Vocabulary::unk},
    {"tokenizer.ggml.padding_token_id", &text::Vocabulary::pad},
    {"tokenizer.ggml.seperator_token_id", &text::Vocabulary::sep},  // as most files spell it
    {"tokenizer.ggml.separator_token_id", &text::Vocabulary::sep, true},
    {"tokenizer.ggml.cls_token_id", &text::Vocabulary::cls},
    {"tokenizer.ggml.mask_token_id", &text::Vocabulary::mask},
    {"tokenizer.ggml.eot_token_id", &text::Vocabulary::eot},
    {"tokenizer.ggml.eom_token_id", &text::Vocabulary::eom},
};

struct FlagKey {
  std::string_view key;
  std::optional<bool> text::Vocabulary::*field;
};
inline constexpr FlagKey kFlagKeys[] = {
    {"tokenizer.ggml.add_bos_token", &text::Vocabulary::add_bos},
    {"tokenizer.ggml.add_eos_token", &text::Vocabulary::add_eos},
    {"tokenizer.ggml.add_sep_token", &text::Vocabulary::add_sep},
    {kTwoSeparators, &text::Vocabulary::two_separators},
    {"tokenizer.ggml.add_space_prefix", &text::Vocabulary::add_space_prefix},
    {"tokenizer.ggml.remove_extra_whitespaces", &text::Vocabulary::remove_extra_whitespaces},
    {"tokenizer.ggml.normalizer.lowercase", &text::Vocabulary::lower_case},
    {"tokenizer.ggml.normalizer.strip_accents", &text::Vocabulary::strip_accents},
};

}  // namespace shunt::vocabulary_keys
