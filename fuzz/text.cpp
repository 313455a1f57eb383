// Text: any bytes become tokens, and tokens become the text again.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <utf8proc.h>

#include "shunt/text.h"

namespace {

using namespace shunt;
using text::Token;
using text::TokenType;

/// Ends the run as a finding if a required condition does not hold.
void require(bool condition) {
  if (!condition) std::abort();
}

/// A few words, all bytes, and a token of the user's own: SentencePiece style.
text::Vocabulary pieces() {
  text::Vocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens = {{"<unk>", 0, TokenType::kUnknown},
                       {"<s>", 0, TokenType::kControl},
                       {"</s>", 0, TokenType::kControl}};
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string hex = {kDigits[byte / 16], kDigits[byte % 16]};
    vocabulary.tokens.push_back({"<0x" + hex + ">", 0, TokenType::kByte});
  }
  float score = 0;
  for (const char* piece :
       {"\u2581", "a", "b", "e", "t", "h", "th", "the", "\u2581the", "ab", "\u2581a"}) {
    vocabulary.tokens.push_back({piece, score--, TokenType::kNormal});
  }
  vocabulary.tokens.push_back({"[user]", 0, TokenType::kUserDefined});
  vocabulary.bos = 1;
  vocabulary.eos = 2;
  return vocabulary;
}

/// A character of GPT-2's byte alphabet: printable Latin-1 stands for itself, the other bytes for
/// U+0100 and on.
std::string letter_of(unsigned byte) {
  unsigned others = 0;
  for (unsigned each = 0; each <= byte; ++each) {
    const bool itself =
        (each >= 0x21 && each <= 0x7e) || (each >= 0xa1 && each <= 0xac) || each >= 0xae;
    if (each == byte) {
      const unsigned code = itself ? byte : 0x100 + others;
      if (code < 0x80) return {static_cast<char>(code)};
      return {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
    }
    others += itself ? 0 : 1;
  }
  return {};
}

/// All bytes and a few merges, cut into words as `pre` says: byte-level BPE.
text::Vocabulary bytes(const std::string& pre) {
  text::Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = pre;
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back({letter_of(byte), 0, TokenType::kNormal});
  }
  for (const char* merge : {"t h", "th e", "a b", "1 2"}) {
    vocabulary.merges.push_back(merge);
    std::string joined = merge;
    std::erase(joined, ' ');
    vocabulary.tokens.push_back({joined, 0, TokenType::kNormal});
  }
  vocabulary.tokens.push_back({"<|end|>", 0, TokenType::kControl});
  vocabulary.bos = vocabulary.eos = static_cast<std::int32_t>(vocabulary.tokens.size()) - 1;
  return vocabulary;
}

/// Valid UTF-8 in the normal form NFC, from utf8proc's own function for it.
std::string nfc(const std::string& text) {
  utf8proc_uint8_t* found = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &found,
                   static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  require(size >= 0);
  const std::string normal(reinterpret_cast<const char*>(found), static_cast<std::size_t>(size));
  std::free(found);
  return normal;
}

/// A tokenizer, and whether it brings text into the normal form NFC.
struct Subject {
  text::Tokenizer tokenizer;
  bool normalises = false;
};

void round_trip(const Subject& subject, std::string_view input, bool special) {
  const text::Tokenizer& tokenizer = subject.tokenizer;
  const auto ids = tokenizer.encode(input, {.add_special = false, .parse_special = special});
  if (!ids) return;  // a limit of the pre-tokenizer's: an error is fine
  for (std::int32_t id : *ids) require(tokenizer.contains(id));
  const auto whole = tokenizer.decode(*ids, {.render_special = special, .continues = false});
  require(whole.has_value());
  require(text::sanitize_utf8(*whole).text == *whole);
  text::StreamDecoder stream(tokenizer, {.render_special = special, .continues = false});
  std::string piecewise;
  for (std::int32_t id : *ids) {
    const auto piece = stream.push(id);
    require(piece && !text::sanitize_utf8(*piece).changed);
    piecewise += *piece;
  }
  piecewise += stream.finish();
  require(piecewise == *whole);
  // Tokens of the user's own insert spaces behind them; without one, text comes back as it was.
  const std::string clean = text::sanitize_utf8(input).text;
  const bool plain =
      clean.find("[user]") == std::string::npos && clean.find("<") == std::string::npos;
  if (!plain || clean.find("\u2581") != std::string::npos) return;
  require(*whole == (subject.normalises ? nfc(clean) : clean));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array subjects = {
      Subject{*text::Tokenizer::create(pieces())},
      Subject{*text::Tokenizer::create(bytes("gpt-2"))},
      Subject{*text::Tokenizer::create(bytes("llama-bpe"))},
      Subject{.tokenizer = *text::Tokenizer::create(bytes("qwen2")), .normalises = true},
      Subject{*text::Tokenizer::create(bytes("deepseek-coder"))}};
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  round_trip(subjects[data[0] % subjects.size()], input, data[0] >= 128);
  return 0;
}
