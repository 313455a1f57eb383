// A model whose symbols are characters that merge: SentencePiece's BPE and Gemma 4's kind, which
// have other sources of merges.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/character_bpe.h"
#include "text/model.h"

namespace shunt::text {

class CharacterModel final : public Model {
 public:
  /// Without tokens and merges. `vocabulary` must outlive it.
  CharacterModel(const Vocabulary& vocabulary, const ByteTokens& byte_tokens, bool add_space_prefix)
      : vocabulary_(vocabulary),
        add_space_prefix_(add_space_prefix),
        bpe_(vocabulary, byte_tokens) {}

  /// To add tokens and merges.
  CharacterBpe& bpe() { return bpe_; }

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

}  // namespace shunt::text
