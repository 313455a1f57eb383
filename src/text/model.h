// One kind of vocabulary: how text without special tokens becomes ids, and an id becomes bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/text.h"

namespace shunt::text {

/// Const after it is made; may be used from many threads.
class Model {
 public:
  virtual ~Model() = default;

  /// Appends the ids of `text`: valid UTF-8, not empty. `after_special` says that it stands at the
  /// start or behind a special token.
  virtual Status encode(std::string_view text, bool after_special,
                        std::vector<std::int32_t>& ids) const = 0;
  /// The bytes of a normal or byte token.
  virtual std::string bytes(std::int32_t id) const = 0;
  /// Whether encode() puts a space in front of a text.
  virtual bool inserts_space() const { return false; }
  /// Whether BOS, or EOS, is added where the vocabulary does not say.
  virtual bool adds_bos() const = 0;
  virtual bool adds_eos() const { return false; }
};

// Makers for each kind. The vocabulary must outlive the model; its ids are in range.
Result<std::unique_ptr<const Model>> make_spm_model(const Vocabulary& vocabulary);
Result<std::unique_ptr<const Model>> make_bpe_model(const Vocabulary& vocabulary);
Result<std::unique_ptr<const Model>> make_wordpiece_model(const Vocabulary& vocabulary);
Result<std::unique_ptr<const Model>> make_unigram_model(const Vocabulary& vocabulary);
Result<std::unique_ptr<const Model>> make_rwkv_model(const Vocabulary& vocabulary);
Result<std::unique_ptr<const Model>> make_gemma4_model(const Vocabulary& vocabulary);

}  // namespace shunt::text
