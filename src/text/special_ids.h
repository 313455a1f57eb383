// Which tokens stand around a text. BERT's are CLS and SEP, the other kinds' BOS and EOS.
#pragma once

#include <cstdint>
#include <optional>

#include "shunt/text.h"

namespace shunt::text {

inline bool is_bert(const Vocabulary& vocabulary) {
  return vocabulary.model == "bert";
}

inline std::optional<std::int32_t> opening_token(const Vocabulary& vocabulary) {
  return is_bert(vocabulary) && vocabulary.cls ? vocabulary.cls : vocabulary.bos;
}

inline std::optional<std::int32_t> closing_token(const Vocabulary& vocabulary) {
  return is_bert(vocabulary) && vocabulary.sep ? vocabulary.sep : vocabulary.eos;
}

/// Absent if the file does not say.
inline std::optional<bool> adds_closing_token(const Vocabulary& vocabulary) {
  return is_bert(vocabulary) && vocabulary.add_sep ? vocabulary.add_sep : vocabulary.add_eos;
}

}  // namespace shunt::text
