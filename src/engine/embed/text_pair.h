// The tokens of a query and a document, as a model reads them together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shunt/embed.h"
#include "shunt/text.h"

namespace shunt {

/// An encoder's: the opening token, the query, the closing token, the document, the closing token.
/// The document and the last token are the second text. Where the vocabulary has two separators, as
/// RoBERTa's, two tokens stand between the texts, and none is of the second text. Unsupported if
/// the tokenizer closes no texts.
Result<EmbedTokens> tokens_of_pair(const text::Tokenizer& tokenizer, std::string_view query,
                                   std::string_view document);

/// A text with places for a query and a document. Control tokens that its own text spells out are
/// tokens. The text between two control tokens is tokenized as a whole.
class PairPrompt {
 public:
  /// Invalid for a text without "{query}" or "{document}".
  static Result<PairPrompt> create(const text::Tokenizer& tokenizer, std::string_view prompt);
  Result<EmbedTokens> tokens(std::string_view query, std::string_view document) const;

 private:
  enum class Place : std::uint8_t { kQuery, kDocument };
  using Part = std::variant<std::string, Place, std::int32_t>;

  explicit PairPrompt(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  void add_text(std::string_view text);

  text::Tokenizer tokenizer_;
  std::vector<Part> parts_;
};

}  // namespace shunt
