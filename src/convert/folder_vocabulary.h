// A vocabulary on its way from a folder into a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"
#include "shunt/text.h"

namespace shunt {

inline constexpr std::int64_t kMostFolderTokens = 1 << 24;  ///< far more than any vocabulary has

/// A vocabulary on its way into a file.
struct FolderVocabulary {
  std::string file;  ///< that it was read from
  std::string kind;  ///< tokenizer.ggml.model
  std::string pre;   ///< tokenizer.ggml.pre; empty: none
  std::vector<text::Token> tokens;
  std::int64_t most_tokens = kMostFolderTokens;  ///< the rows of the embedding, if they are known
  std::vector<std::string> merges;
  std::string charsmap;  ///< compiled normaliser of SentencePiece
  bool has_scores = false;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_space_prefix;
  std::optional<bool> remove_extra_whitespaces;
  std::optional<bool> lower_case;     ///< of WordPiece
  std::optional<bool> strip_accents;  ///< of WordPiece
  /// The tokens that are added in front of a text and behind it.
  std::optional<std::int64_t> opening;
  std::optional<std::int64_t> closing;
  /// The token after the closing one between two texts; none: the closing one stands there alone.
  std::optional<std::int64_t> separator;
  /// The ids that the tokenizer's own file has.
  std::optional<std::int64_t> bos;
  std::optional<std::int64_t> eos;
  std::optional<std::int64_t> unk;
  std::optional<std::int64_t> pad;
  /// For the user, a line each.
  std::vector<std::string> notes;

  /// The id of a token; none if there is none of this text.
  std::optional<std::int64_t> find(std::string_view text) const;
};

/// Makes a token of an id, and unused ones for ids before it that have none. BadFile, naming
/// `place`, for an id out of range or one that has another token.
Status set_token(FolderVocabulary& vocabulary, std::int64_t id, text::Token token,
                 const std::string& place);

/// That no token is empty, and none is there twice. BadFile, naming the file and the ids.
Status check_texts(const FolderVocabulary& vocabulary);

}  // namespace shunt
