// The alphabet in which byte-level BPE vocabularies write bytes, so that every token is printable.
// A byte that is a printable Latin-1 character is that character. The other 68, in their order, are
// U+0100 and on (a space is U+0120). Radford et al., "Language Models are Unsupervised Multitask
// Learners" (2019), and its published encoder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::text {

/// The bytes that `token` writes; nothing if it has anything that is not a letter of the alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view token);

/// How the alphabet writes `bytes`.
std::string alphabet_from_bytes(std::string_view bytes);

/// The same as bytes_from_alphabet() for showing: a character that is not a letter of the alphabet
/// stays as it is.
std::string bytes_from_alphabet_leniently(std::string_view token);

}  // namespace shunt::text
