// GGUF files don't say which white space tokens take that are spelled out in text; some models'
// tokenizer.json does.
#pragma once

#include "shunt/text.h"

namespace shunt::text {

/// Sets the rules of tokens of models that are known, unless some token has rules already.
void add_known_token_rules(Vocabulary& vocabulary);

}  // namespace shunt::text
