#include "convert/folder_vocabulary.h"

#include <algorithm>
#include <unordered_map>

#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {

std::optional<std::int64_t> FolderVocabulary::find(std::string_view text) const {
  const auto found = std::ranges::find(tokens, text, &text::Token::text);
  if (found == tokens.end()) return std::nullopt;
  return found - tokens.begin();
}

Status set_token(FolderVocabulary& vocabulary, std::int64_t id, text::Token token,
                 const std::string& place) {
  if (id < 0 || id >= vocabulary.most_tokens) {
    return fail(ErrorCode::kBadFile,
                "{}: token {} has id {}; ids are below {}, by the rows of the embedding", place,
                gguf::printable(token.text), id, vocabulary.most_tokens);
  }
  auto& tokens = vocabulary.tokens;
  const auto free = [](const text::Token& at) { return at.type == text::TokenType::kUnused; };
  while (std::ssize(tokens) <= id) {
    text::Token unused;
    unused.text = fmt::format("[PAD{}]", tokens.size());
    unused.type = text::TokenType::kUnused;
    tokens.push_back(std::move(unused));
  }
  text::Token& at = tokens[static_cast<std::size_t>(id)];
  if (!free(at)) {
    return fail(ErrorCode::kBadFile, "{}: tokens {} and {} have the same id {}", place,
                gguf::printable(at.text), gguf::printable(token.text), id);
  }
  at = std::move(token);
  return ok();
}

Status check_texts(const FolderVocabulary& vocabulary) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& text = vocabulary.tokens[id].text;
    if (text.empty())
      return fail(ErrorCode::kBadFile, "{}: token {} is empty; a text is expected", vocabulary.file,
                  id);
    const auto [place, is_new] = ids.try_emplace(text, id);
    if (is_new) continue;
    return fail(ErrorCode::kBadFile, "{}: tokens {} and {} are both {}; a text is expected once",
                vocabulary.file, place->second, id, gguf::printable(text));
  }
  return ok();
}

}  // namespace shunt
