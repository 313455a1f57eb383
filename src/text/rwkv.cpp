// The "rwkv" kind: at each place the longest token. Texts of tokens in the file are Python's
// literals of bytes, without the quotes: \n, \x80. github.com/BlinkDL/ChatRWKV, rwkv_tokenizer.py.
#include <charconv>
#include <deque>

#include "shunt/message.h"
#include "text/byte_trie.h"
#include "text/model.h"

namespace shunt::text {
namespace {

struct Escape {
  char letter, byte;
};
constexpr Escape kEscapes[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}};

/// Takes "\x0A" or "\n" or "\'" off the text; nothing if no two digits follow an x.
std::optional<char> take_escaped(std::string_view& text) {
  if (text.size() < 2) return std::nullopt;
  char byte = text[1];
  text.remove_prefix(2);
  if (byte == 'x') {
    unsigned char value = 0;
    if (text.size() < 2) return std::nullopt;
    const std::string digits(text.substr(0, 2));
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
    if (error != std::errc() || stop != end) return std::nullopt;
    text.remove_prefix(2);
    return static_cast<char>(value);
  }
  for (const Escape& escape : kEscapes) {
    if (escape.letter == byte) byte = escape.byte;
  }
  return byte;
}

std::optional<std::string> bytes_of_literal(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    if (text.front() != '\\') {
      bytes += text.front();
      text.remove_prefix(1);
    } else if (const auto byte = take_escaped(text)) {
      bytes += *byte;
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

class RwkvModel final : public Model {
 public:
  explicit RwkvModel(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Status index() {
    std::deque<std::string> literals;
    std::vector<ByteTrie::Entry> entries;
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const Token& token = vocabulary_.tokens[i];
      if (token.type != TokenType::kNormal) continue;
      auto bytes = bytes_of_literal(token.text);
      if (!bytes) return invalid("token {} is \"{}\", which is no literal", i, token.text);
      literals.push_back(std::move(*bytes));
      entries.emplace_back(literals.back(), static_cast<std::int32_t>(i));
    }
    trie_ = ByteTrie(std::move(entries));
    return ok();
  }

  Status encode(std::string_view text, bool /*after_special*/,
                std::vector<std::int32_t>& ids) const override {
    while (!text.empty()) {
      const ByteTrie::Match match = trie_.longest(text);
      if (match.size == 0 && !vocabulary_.unk) {
        return fail(ErrorCode::kUnsupported,
                    "the vocabulary has no token for byte 0x{:02X} and no unknown token",
                    static_cast<unsigned char>(text.front()));
      }
      ids.push_back(match.size == 0 ? *vocabulary_.unk : match.id);
      text.remove_prefix(std::max<std::size_t>(match.size, 1));
    }
    return ok();
  }

  std::string bytes(std::int32_t id) const override {
    return bytes_of_literal(vocabulary_.tokens[static_cast<std::size_t>(id)].text).value_or("");
  }
  bool adds_bos() const override { return false; }

 private:
  const Vocabulary& vocabulary_;
  ByteTrie trie_;
};

}  // namespace

Result<std::unique_ptr<const Model>> make_rwkv_model(const Vocabulary& vocabulary) {
  auto model = std::make_unique<RwkvModel>(vocabulary);
  SHUNT_TRY(model->index());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
