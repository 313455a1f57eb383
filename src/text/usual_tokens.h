// The special tokens that a file does not name, and that vocabularies of its kind usually have.
#pragma once

#include "shunt/text.h"

namespace shunt::text {

/// Sets BOS, EOS and the like by their usual texts, and the unknown token by its type, where the
/// vocabulary does not name them.
void fill_in_usual_tokens(Vocabulary& vocabulary);

}  // namespace shunt::text
