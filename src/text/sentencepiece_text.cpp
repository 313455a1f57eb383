#include "text/sentencepiece_text.h"

#include <algorithm>
#include <charconv>

#include "shunt/message.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

constexpr std::int32_t kNoByteToken = -1;

/// The byte that "<0xXX>" names.
std::optional<unsigned char> parse_byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  unsigned char byte = 0;
  const char* end = text.data() + 5;
  const auto [stop, error] = std::from_chars(text.data() + 3, end, byte, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return byte;
}

}  // namespace

bool has_space_symbols(const Vocabulary& vocabulary) {
  return vocabulary.model == "llama" || vocabulary.model == "t5" || vocabulary.model == "gemma4";
}

void append_with_space_symbols(std::string_view text, std::string& result) {
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    result += text.substr(0, space);
    if (space == text.size()) return;
    result += kSpaceSymbol;
    text.remove_prefix(space + 1);
  }
}

std::string with_spaces(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  while (done < text.size()) {
    const std::size_t space = std::min(text.find(kSpaceSymbol, done), text.size());
    result += text.substr(done, space - done);
    if (space < text.size()) result += ' ';
    done = space + kSpaceSymbol.size();
  }
  return result;
}

Result<ByteTokens> ByteTokens::create(const Vocabulary& vocabulary) {
  ByteTokens tokens;
  tokens.ids_.fill(kNoByteToken);
  tokens.unknown_ = vocabulary.unk;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const Token& token = vocabulary.tokens[i];
    if (token.type != TokenType::kByte) continue;
    const auto byte = parse_byte_token(token.text);
    if (!byte) {
      return invalid("token {} is a byte, but its text is \"{}\" and not like \"<0x0A>\"", i,
                     token.text);
    }
    if (tokens.ids_[*byte] == kNoByteToken) tokens.ids_[*byte] = static_cast<std::int32_t>(i);
  }
  return tokens;
}

Status ByteTokens::append(std::string_view character, bool& after_unknown,
                          std::vector<std::int32_t>& ids) const {
  const auto byte_id = [&](char c) { return ids_[static_cast<unsigned char>(c)]; };
  if (std::ranges::none_of(character, [&](char c) { return byte_id(c) == kNoByteToken; })) {
    for (const char c : character) ids.push_back(byte_id(c));
    after_unknown = false;
    return ok();
  }
  if (!unknown_) {
    return fail(ErrorCode::kUnsupported,
                "the vocabulary has no token for U+{:04X}, none for its bytes and no unknown token",
                static_cast<std::uint32_t>(utf8_code_point(character)));
  }
  if (!after_unknown) ids.push_back(*unknown_);
  after_unknown = true;
  return ok();
}

std::string ByteTokens::bytes(const Token& token) {
  if (token.type != TokenType::kByte) return with_spaces(token.text);
  const auto byte = parse_byte_token(token.text);
  return byte ? std::string(1, static_cast<char>(*byte)) : std::string();
}

}  // namespace shunt::text
