// The "gemma4" kind: text as in SentencePiece, with spaces as U+2581 and bytes for characters that
// the vocabulary lacks; a list of merges as in byte-level BPE, in place of scores.
#include <unordered_map>

#include "text/character_bpe.h"
#include "text/merge_parts.h"
#include "text/model.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

class Gemma4Model final : public Model {
 public:
  Gemma4Model(const Vocabulary& vocabulary, const ByteTokens& byte_tokens)
      : vocabulary_(vocabulary),
        add_space_prefix_(vocabulary.add_space_prefix.value_or(false)),
        bpe_(vocabulary, byte_tokens) {}

  Status index() {
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const Token& token = vocabulary_.tokens[i];
      if (token.text.empty() || !is_valid_utf8(token.text)) continue;
      // Tokens of the user's own may be parts of merges, and results: runs of line ends are.
      if (token.type != TokenType::kNormal && token.type != TokenType::kUserDefined) continue;
      const auto id = static_cast<std::int32_t>(i);
      if (ids.try_emplace(token.text, id).second) bpe_.add_token(token.text, id);
    }
    std::string merged;
    for (std::size_t rank = 0; rank < vocabulary_.merges.size(); ++rank) {
      SHUNT_ASSIGN(const MergeParts parts, split_merge(vocabulary_.merges[rank], rank));
      const auto left = ids.find(parts.left);
      const auto right = ids.find(parts.right);
      const auto result = ids.find(merged.assign(parts.left).append(parts.right));
      // A merge of what is no token never applies.
      if (left == ids.end() || right == ids.end() || result == ids.end()) continue;
      bpe_.add_merge(left->second, right->second,
                     {static_cast<std::uint32_t>(rank), result->second});
    }
    return ok();
  }

  Status encode(std::string_view text, bool after_special,
                std::vector<std::int32_t>& ids) const override {
    return bpe_.encode(text, after_special && add_space_prefix_, ids);
  }
  std::string bytes(std::int32_t id) const override {
    return ByteTokens::bytes(vocabulary_.tokens[static_cast<std::size_t>(id)]);
  }
  bool inserts_space() const override { return add_space_prefix_; }
  bool adds_bos() const override { return true; }

 private:
  const Vocabulary& vocabulary_;
  bool add_space_prefix_;
  CharacterBpe bpe_;
};

}  // namespace

Result<std::unique_ptr<const Model>> make_gemma4_model(const Vocabulary& vocabulary) {
  SHUNT_ASSIGN(const ByteTokens byte_tokens, ByteTokens::create(vocabulary));
  auto model = std::make_unique<Gemma4Model>(vocabulary, byte_tokens);
  SHUNT_TRY(model->index());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
