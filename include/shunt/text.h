/// \file
/// Text to token ids and back, as the tokenizer inside a GGUF file says. Ids are 32-bit and index
/// Vocabulary::tokens; text is UTF-8. Include it to use a tokenizer without a model.
/// Model::tokenizer() (engine.h) is that of a model.
///
/// \code
/// SHUNT_ASSIGN(const auto ids, tokenizer.encode("Once upon a time"));
/// text::StreamDecoder decoder(tokenizer);
/// for (std::int32_t id : ids) {
///   SHUNT_ASSIGN(const std::string piece, decoder.push(id));
///   std::cout << piece;
/// }
/// std::cout << decoder.finish() << "\n";
/// \endcode
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shunt/error.h"

/// Tokenizers.
namespace shunt::text {

/// The kind of a token; the numbers are GGUF's own.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,      ///< replaces text that the vocabulary lacks
  kControl = 3,      ///< for the model, not for people: begin, end, turns of a chat
  kUserDefined = 4,  ///< found in text before anything else is, never split
  kUnused = 5,
  kByte = 6,  ///< "<0xXX>": one byte of a character that has no token of its own
};
/// "normal", "control", ...
std::string_view to_string(TokenType type);

/// How a token that is spelled out in text is found there.
struct AddedTokenRules {
  bool strip_left = false;   ///< it takes the white space before it
  bool strip_right = false;  ///< it takes the white space behind it
  bool single_word = false;  ///< only where no letter, digit or "_" is next to it
};

/// A token of a vocabulary. Its id is its index in Vocabulary::tokens.
struct Token {
  std::string text;  ///< as in the file: with U+2581 for spaces, or in the byte alphabet of GPT-2
  float score = 0;   ///< "llama" and "t5": higher scores merge first, or are likelier
  TokenType type = TokenType::kNormal;
  AddedTokenRules rules = {};  ///< of control and user-defined tokens
};

/// The file's description of its tokenizer, unchecked; Tokenizer::create checks it.
struct Vocabulary {
  std::string model;  ///< the kind: "llama", "gpt2", "bert", "t5", "gemma4" or "rwkv"
  std::string pre;    ///< "gpt2" only: how text is cut into words; empty is "default"
  std::vector<Token> tokens;
  std::vector<std::string> merges;  ///< "gpt2" and "gemma4": "left right", the first one first
  std::string charsmap;             ///< "t5": SentencePiece's compiled normaliser

  std::optional<std::int32_t> bos;  ///< beginning of sequence
  std::optional<std::int32_t> eos;  ///< end of sequence
  std::optional<std::int32_t> unk;  ///< if absent, the first token of type kUnknown
  std::optional<std::int32_t> pad;
  std::optional<std::int32_t> sep;
  std::optional<std::int32_t> cls;  ///< "bert": in front of a text
  std::optional<std::int32_t> mask;
  std::optional<std::int32_t> eot;  ///< end of turn
  std::optional<std::int32_t> eom;  ///< end of message

  // Absent means the default of the kind:
  // - BOS: "llama", "gemma4", CLS for "bert", some pre-tokenizers of "gpt2" (llama-bpe).
  // - EOS: "t5", SEP for "bert", some pre-tokenizers of "gpt2" (roberta-bpe).
  // - A space in front: "llama", "t5".
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_sep;                   ///< "bert"; of others: two between texts
  std::optional<bool> two_separators;            ///< "bert" only: SEP twice between two texts
  std::optional<bool> add_space_prefix;          ///< "llama" and "t5"
  std::optional<bool> remove_extra_whitespaces;  ///< "t5" only; true if absent
  std::optional<bool> lower_case;                ///< "bert" only; if absent, no token has capitals
  std::optional<bool> strip_accents;             ///< "bert" only; if absent, as lower_case
};

/// Options of Tokenizer::encode().
struct EncodeOptions {
  /// Add BOS at the start and EOS at the end, if the vocabulary requires them.
  bool add_special = true;
  /// Read control tokens that are spelled out in the text. Off for untrusted text. User-defined
  /// tokens are always read.
  bool parse_special = false;
  /// The first bytes of the text are trusted, such as a prompt of the model's file: control tokens
  /// that they spell out in full are read, also without parse_special.
  std::size_t trusted_bytes = 0;
};

/// Options of Tokenizer::decode() and StreamDecoder.
struct DecodeOptions {
  /// Show control, unknown and unused tokens by their text.
  bool render_special = false;
  /// The ids go on from others before them: their first space is the text's own and is kept.
  bool continues = false;
};

/// Const after create; a copy is a pointer. May be used from many threads.
class Tokenizer {
 public:
  /// Unsupported for a kind or a pre-tokenizer that this build lacks, naming those it has; invalid
  /// argument for an id out of range, a malformed merge, byte token, score or type.
  static Result<Tokenizer> create(Vocabulary vocabulary);

  /// Ids of a text of at most 1 GiB. Invalid UTF-8 is read as by sanitize_utf8(). Takes time O(n
  /// log n) for any text.
  Result<std::vector<std::int32_t>> encode(std::string_view text,
                                           const EncodeOptions& options = {}) const;
  /// The text of ids, valid UTF-8 always; invalid bytes become U+FFFD. The space that
  /// encode() put in front is taken away. Invalid argument for an id out of range.
  Result<std::string> decode(std::span<const std::int32_t> ids,
                             const DecodeOptions& options = {}) const;
  /// The bytes of one token, spaces kept; may be a part of a character. Empty for control, unknown
  /// and unused tokens unless they are to be rendered. Invalid argument for an id out of range.
  Result<std::string> piece(std::int32_t id, bool render_special = false) const;

  /// Number of tokens; ids are 0 to size() - 1.
  std::int32_t size() const;
  /// Whether there is a token with this id.
  bool contains(std::int32_t id) const { return id >= 0 && id < size(); }
  /// The text of a token as in the file; empty if there is no such token.
  std::string_view token_text(std::int32_t id) const;
  /// The type of a token; kUnused if there is no such token.
  TokenType token_type(std::int32_t id) const;
  /// Whether generation ends with this token: EOS, EOT or EOM, or a control token whose text is
  /// known to end a turn or a call, such as "<|im_end|>".
  bool is_end_of_generation(std::int32_t id) const;
  /// The ids of all these, ascending.
  std::span<const std::int32_t> ends_of_generation() const;

  /// Whether encode() adds BOS, defaults applied.
  bool adds_bos() const;
  /// Whether encode() adds EOS, defaults applied.
  bool adds_eos() const;
  /// Its vocabulary, special ids included; `unk` is filled in from the token types.
  const Vocabulary& vocabulary() const;

 private:
  friend class StreamDecoder;
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Text from ids as they come. The results of all calls together are the result of decode() for all
/// ids. Belongs to one thread at a time.
class StreamDecoder {
 public:
  /// Begins a text.
  explicit StreamDecoder(Tokenizer tokenizer, const DecodeOptions& options = {});

  /// The text that is complete with this id: whole characters only, maybe none. Invalid argument
  /// for an id out of range, which changes nothing.
  Result<std::string> push(std::int32_t id);
  /// U+FFFD if the ids ended within a character, else nothing. The decoder then starts anew.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  bool strip_space_;     ///< nothing has come yet that the inserted space could not stand before
  std::string pending_;  ///< the first bytes of a character
};

/// The result of sanitize_utf8(): the text, and whether it differs.
struct SanitizedText {
  std::string text;
  bool changed = false;
};
/// `text` as valid UTF-8: one U+FFFD for each maximal subpart of an ill-formed sequence, as the
/// Unicode standard (chapter 3.9, "U+FFFD Substitution of Maximal Subparts") recommends.
SanitizedText sanitize_utf8(std::string_view text);

}  // namespace shunt::text
