// Properties of characters that normalisers ask for, from utf8proc's tables.
#pragma once

namespace shunt::text {

/// The property White_Space.
bool is_white_space(char32_t c);
/// Letters, marks, digits and connectors: \w of regular expressions.
bool is_word_character(char32_t c);
/// General categories P*, Mn, and (Cc, Cf, Co), of Unicode 8 as in BERT's tokenizers.
bool is_bert_punctuation(char32_t c);
bool is_bert_accent(char32_t c);
bool is_bert_control(char32_t c);
/// The ideographs that are words of their own: CJK, its extensions A to E, compatibility ones.
bool is_bert_ideograph(char32_t c);
/// The lower case of a character, where that is one character; else itself.
char32_t to_lower_case(char32_t c);

}  // namespace shunt::text
