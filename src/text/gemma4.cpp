// The "gemma4" kind: text as in SentencePiece, with spaces as U+2581 and bytes for characters that
// the vocabulary lacks; a list of merges as in byte-level BPE, in place of scores.
#include <unordered_map>

#include "text/character_model.h"
#include "text/merge_parts.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

/// The vocabulary's tokens, and the merges of its list in their order.
Status add_listed_merges(const Vocabulary& vocabulary, CharacterBpe& bpe) {
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const Token& token = vocabulary.tokens[i];
    if (token.text.empty() || !is_valid_utf8(token.text)) continue;
    // Tokens of the user's own may be parts of merges, and results: runs of line ends are.
    if (token.type != TokenType::kNormal && token.type != TokenType::kUserDefined) continue;
    const auto id = static_cast<std::int32_t>(i);
    if (ids.try_emplace(token.text, id).second) bpe.add_token(token.text, id);
  }
  std::string merged;
  for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    SHUNT_ASSIGN(const MergeParts parts, split_merge(vocabulary.merges[rank], rank));
    const auto left = ids.find(parts.left);
    const auto right = ids.find(parts.right);
    const auto result = ids.find(merged.assign(parts.left).append(parts.right));
    // A merge whose parts or result are not tokens never applies.
    if (left == ids.end() || right == ids.end() || result == ids.end()) continue;
    bpe.add_merge(left->second, right->second, {static_cast<std::uint32_t>(rank), result->second});
  }
  return ok();
}

}  // namespace

Result<std::unique_ptr<const Model>> make_gemma4_model(const Vocabulary& vocabulary) {
  SHUNT_ASSIGN(const ByteTokens byte_tokens, ByteTokens::create(vocabulary));
  auto model = std::make_unique<CharacterModel>(vocabulary, byte_tokens,
                                                vocabulary.add_space_prefix.value_or(false));
  SHUNT_TRY(add_listed_merges(vocabulary, model->bpe()));
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
