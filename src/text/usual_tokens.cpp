#include "text/usual_tokens.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace shunt::text {
namespace {

/// The first one of this type.
void fill_in_unknown(Vocabulary& vocabulary) {
  if (vocabulary.unk) return;
  const auto unknown = std::ranges::find(vocabulary.tokens, TokenType::kUnknown, &Token::type);
  if (unknown == vocabulary.tokens.end()) return;
  vocabulary.unk = static_cast<std::int32_t>(unknown - vocabulary.tokens.begin());
}

/// A control token that all vocabularies of a kind have, and some files do not name.
struct UsualToken {
  std::string_view kind;
  std::string_view text;
  std::optional<std::int32_t> Vocabulary::*id;
  std::optional<std::int32_t> Vocabulary::*instead;  ///< another one that does for it
};
constexpr UsualToken kUsualTokens[] = {
    {"llama", "<s>", &Vocabulary::bos, &Vocabulary::bos},
    {"llama", "</s>", &Vocabulary::eos, &Vocabulary::eos},
    {"bert", "[CLS]", &Vocabulary::cls, &Vocabulary::bos},
    {"bert", "[SEP]", &Vocabulary::sep, &Vocabulary::eos},
};

}  // namespace

void fill_in_usual_tokens(Vocabulary& vocabulary) {
  fill_in_unknown(vocabulary);
  for (const UsualToken& usual : kUsualTokens) {
    if (usual.kind != vocabulary.model) continue;
    if (vocabulary.*usual.id || vocabulary.*usual.instead) continue;
    const auto found = std::ranges::find_if(vocabulary.tokens, [&](const Token& token) {
      return token.type == TokenType::kControl && token.text == usual.text;
    });
    if (found == vocabulary.tokens.end()) continue;
    vocabulary.*usual.id = static_cast<std::int32_t>(found - vocabulary.tokens.begin());
  }
}

}  // namespace shunt::text
