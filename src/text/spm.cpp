// The "llama" kind: SentencePiece's BPE. Any two neighbours that are a token together may merge, by
// the tokens' scores. Kudo and Richardson, "SentencePiece" (2018); github.com/google/sentencepiece.
#include <algorithm>
#include <deque>

#include "text/byte_trie.h"
#include "text/character_model.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

std::string reversed(std::string_view text) {
  return {text.rbegin(), text.rend()};
}

/// Finds out into which two symbols each token can be cut.
class SpmMerges {
 public:
  explicit SpmMerges(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    std::vector<ByteTrie::Entry> forward;
    std::vector<ByteTrie::Entry> backward;
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const Token& token = vocabulary.tokens[i];
      // Only normal tokens come out of text: a control token that is spelled out stays text, and
      // user-defined ones have been found before.
      const bool usable = token.type == TokenType::kNormal && !token.text.empty();
      if (!usable || !is_valid_utf8(token.text)) continue;
      const auto id = static_cast<std::int32_t>(i);
      forward.emplace_back(token.text, id);
      backward.emplace_back(reversed_texts_.emplace_back(reversed(token.text)), id);
      scores_.push_back(token.score);
    }
    forward_ = ByteTrie(std::move(forward));
    backward_ = ByteTrie(std::move(backward));
    std::ranges::sort(scores_, std::greater<>());
    scores_.erase(std::unique(scores_.begin(), scores_.end()), scores_.end());
  }

  void add_to(CharacterBpe& bpe) {
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const std::string_view text = vocabulary_.tokens[i].text;
      const auto id = static_cast<std::int32_t>(i);
      if (forward_.longest(text).id == id && forward_.longest(text).size == text.size()) {
        bpe.add_token(text, id);
        tokens_.push_back(id);
      }
    }
    for (const std::int32_t id : tokens_) add_merges_of(id, bpe);
  }

 private:
  void add_merges_of(std::int32_t id, CharacterBpe& bpe) {
    const Token& token = vocabulary_.tokens[static_cast<std::size_t>(id)];
    const std::string_view text = token.text;
    const std::size_t first = utf8_size(text);
    if (first == text.size()) return;
    const auto rank = static_cast<std::uint32_t>(
        std::ranges::lower_bound(scores_, token.score, std::greater<>()) - scores_.begin());

    suffixes_.assign(text.size(), ByteTrie::kNoId);
    std::uint32_t node = ByteTrie::kRoot;
    for (std::size_t begin = text.size(); begin-- > 1;) {
      node = backward_.step(node, text[begin]);
      if (node == ByteTrie::kNoNode) break;
      suffixes_[begin] = backward_.id(node);
    }
    std::size_t last = text.size() - 1;
    while ((static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    suffixes_[last] = bpe.character_symbol(utf8_code_point(text.substr(last)));

    node = ByteTrie::kRoot;
    for (std::size_t end = 1; end < text.size(); ++end) {
      node = node == ByteTrie::kNoNode ? node : forward_.step(node, text[end - 1]);
      std::int32_t prefix = node == ByteTrie::kNoNode ? ByteTrie::kNoId : forward_.id(node);
      if (end == first) prefix = bpe.character_symbol(utf8_code_point(text));
      const std::int32_t suffix = suffixes_[end];
      if (prefix != ByteTrie::kNoId && suffix != ByteTrie::kNoId) {
        bpe.add_merge(prefix, suffix, {rank, id});
      }
    }
  }

  const Vocabulary& vocabulary_;
  std::deque<std::string> reversed_texts_;
  ByteTrie forward_;
  ByteTrie backward_;
  std::vector<float> scores_;         ///< each once, the best first: a score's rank is its place
  std::vector<std::int32_t> tokens_;  ///< that come out of text
  std::vector<std::int32_t> suffixes_;
};

}  // namespace

Result<std::unique_ptr<const Model>> make_spm_model(const Vocabulary& vocabulary) {
  SHUNT_ASSIGN(const ByteTokens byte_tokens, ByteTokens::create(vocabulary));
  auto model = std::make_unique<CharacterModel>(vocabulary, byte_tokens,
                                                vocabulary.add_space_prefix.value_or(true));
  SpmMerges(vocabulary).add_to(model->bpe());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
