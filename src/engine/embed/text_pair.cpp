#include "engine/embed/text_pair.h"

#include <optional>
#include <utility>

#include "shunt/message.h"
#include "text/byte_trie.h"

namespace shunt {

namespace {

constexpr text::EncodeOptions kPlain = {.add_special = false, .parse_special = false};
constexpr std::string_view kQueryPlace = "{query}";
constexpr std::string_view kDocumentPlace = "{document}";

/// The texts of control tokens.
text::ByteTrie control_tokens(const text::Tokenizer& tokenizer) {
  std::vector<text::ByteTrie::Entry> all;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.token_type(id) == text::TokenType::kControl)
      all.emplace_back(tokenizer.token_text(id), id);
  }
  return text::ByteTrie(std::move(all));
}

/// The token after the closing one between two texts; none: the closing one stands there alone.
std::optional<std::int32_t> second_separator(const text::Vocabulary& vocabulary,
                                             std::int32_t closing) {
  // In files of WordPiece, add_sep_token is about the end of a text.
  if (vocabulary.model == "bert")
    return vocabulary.two_separators.value_or(false) ? std::optional(closing) : std::nullopt;
  return vocabulary.add_sep.value_or(false) ? vocabulary.sep : std::nullopt;
}

}  // namespace

Result<EmbedTokens> tokens_of_pair(const text::Tokenizer& tokenizer, std::string_view query,
                                   std::string_view document) {
  SHUNT_ASSIGN(std::vector<std::int32_t> first, tokenizer.encode(query));
  if (!tokenizer.adds_eos() || first.empty()) {
    return fail(ErrorCode::kUnsupported,
                "the tokenizer puts no token at the end of a text, so a query and a document can't "
                "be told apart");
  }
  const std::int32_t closing = first.back();
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  // RoBERTa's kind has two tokens between the texts, and one type of tokens.
  const std::optional<std::int32_t> separator = second_separator(vocabulary, closing);
  if (separator) first.push_back(*separator);
  EmbedTokens pair = {.second_text = separator ? -1 : std::ssize(first)};
  SHUNT_ASSIGN(const std::vector<std::int32_t> second, tokenizer.encode(document, kPlain));
  first.insert(first.end(), second.begin(), second.end());
  first.push_back(closing);
  pair.tokens = std::move(first);
  return pair;
}

Result<PairPrompt> PairPrompt::create(const text::Tokenizer& tokenizer, std::string_view prompt) {
  for (const std::string_view place : {kQueryPlace, kDocumentPlace}) {
    if (prompt.find(place) != std::string_view::npos) continue;
    return invalid("the prompt for reranking has no {}", place);
  }
  const text::ByteTrie controls = control_tokens(tokenizer);
  PairPrompt made(tokenizer);
  while (!prompt.empty()) {
    if (prompt.starts_with(kQueryPlace)) {
      made.parts_.emplace_back(Place::kQuery);
      prompt.remove_prefix(kQueryPlace.size());
    } else if (prompt.starts_with(kDocumentPlace)) {
      made.parts_.emplace_back(Place::kDocument);
      prompt.remove_prefix(kDocumentPlace.size());
    } else if (const auto control = controls.longest(prompt); control.size > 0) {
      made.parts_.emplace_back(control.id);
      prompt.remove_prefix(control.size);
    } else {
      made.add_text(prompt.substr(0, 1));
      prompt.remove_prefix(1);
    }
  }
  return made;
}

void PairPrompt::add_text(std::string_view text) {
  if (parts_.empty() || !std::holds_alternative<std::string>(parts_.back()))
    parts_.emplace_back(std::string());
  std::get<std::string>(parts_.back()) += text;
}

Result<EmbedTokens> PairPrompt::tokens(std::string_view query, std::string_view document) const {
  EmbedTokens made;
  std::string text;
  const auto finish = [&]() -> Status {
    SHUNT_ASSIGN(const std::vector<std::int32_t> more, tokenizer_.encode(text, kPlain));
    made.tokens.insert(made.tokens.end(), more.begin(), more.end());
    text.clear();
    return ok();
  };
  for (const Part& part : parts_) {
    if (const auto* own = std::get_if<std::string>(&part)) {
      text += *own;
    } else if (const auto* place = std::get_if<Place>(&part)) {
      text += *place == Place::kQuery ? query : document;
    } else {
      SHUNT_TRY(finish());
      made.tokens.push_back(std::get<std::int32_t>(part));
    }
  }
  SHUNT_TRY(finish());
  return made;
}

}  // namespace shunt
