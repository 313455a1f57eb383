// How each family of byte-level BPE models cuts text into words before merging: the one place that
// a new tokenizer.ggml.pre touches.
#pragma once

#include <span>
#include <string_view>

namespace shunt::text {

struct PretokenizerRule {
  std::span<const std::string_view> names;  ///< values of tokenizer.ggml.pre
  /// Applied in sequence: each cuts the pieces that the one before it left.
  std::span<const std::string_view> patterns;
  /// A word that is a token as a whole is that token, regardless of merges.
  bool ignore_merges = false;
  /// Whether BOS and EOS are added where the file does not say.
  bool add_bos = false;
  bool add_eos = false;
  /// Text is brought to the normal form NFC first.
  bool nfc = false;
};

std::span<const PretokenizerRule> pretokenizer_rules();

}  // namespace shunt::text
