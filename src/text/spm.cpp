// The "llama" kind: SentencePiece's BPE. Spaces are U+2581, characters merge by the tokens' scores,
// and a character without a token is written as its bytes. Kudo and Richardson, "SentencePiece"
// (2018); github.com/google/sentencepiece.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "shunt/message.h"
#include "text/merge.h"
#include "text/model.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581
constexpr std::int32_t kNoToken = -1;

/// The byte that "<0xXX>" names.
std::optional<unsigned char> parse_byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  unsigned char byte = 0;
  const char* end = text.data() + 5;
  const auto [stop, error] = std::from_chars(text.data() + 3, end, byte, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return byte;
}

std::string with_spaces(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  while (done < text.size()) {
    const std::size_t space = std::min(text.find(kSpace, done), text.size());
    result += text.substr(done, space - done);
    if (space < text.size()) result += ' ';
    done = space + kSpace.size();
  }
  return result;
}

class SpmModel final : public Model {
 public:
  explicit SpmModel(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), add_space_prefix_(vocabulary.add_space_prefix.value_or(true)) {
    byte_ids_.fill(kNoToken);
  }

  Status index() {
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const Token& token = vocabulary_.tokens[i];
      const auto id = static_cast<std::int32_t>(i);
      if (token.type == TokenType::kNormal && !token.text.empty()) {
        ids_.try_emplace(token.text, id);
        longest_ = std::max(longest_, token.text.size());
      } else if (token.type == TokenType::kByte) {
        const auto byte = parse_byte_token(token.text);
        if (!byte) {
          return invalid("token {} is a byte, but its text is \"{}\" and not like \"<0x0A>\"", i,
                         token.text);
        }
        if (byte_ids_[*byte] == kNoToken) byte_ids_[*byte] = id;
      }
    }
    return ok();
  }

  Status encode(std::string_view text, bool after_special,
                std::vector<std::int32_t>& ids) const override {
    std::string escaped;
    escaped.reserve(text.size() + text.size() / 2 + kSpace.size());
    if (after_special && add_space_prefix_) escaped += kSpace;
    for (const char c : text) {
      if (c == ' ') {
        escaped += kSpace;
      } else {
        escaped += c;
      }
    }

    Merger merger;
    for (std::string_view rest = escaped; !rest.empty();) {
      const std::size_t size = utf8_size(rest);
      merger.add(static_cast<std::uint32_t>(size), find(rest.substr(0, size)));
      rest.remove_prefix(size);
    }
    merger.run([&](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
      const std::size_t size = std::size_t{left.size} + right.size;
      const std::int32_t id = find(std::string_view(escaped).substr(left.begin, size));
      if (id == kNoToken) return std::nullopt;
      return Merge{-double{vocabulary_.tokens[static_cast<std::size_t>(id)].score}, id};
    });

    bool after_unknown = false;
    Status status;
    merger.for_each([&](const Symbol& symbol) {
      if (!status) return;
      const bool known = symbol.id != kNoToken;
      if (known) {
        ids.push_back(symbol.id);
      } else {
        status = add_unmatched(std::string_view(escaped).substr(symbol.begin, symbol.size),
                               after_unknown, ids);
      }
      after_unknown = after_unknown && !known;
    });
    return status;
  }

  std::string bytes(std::int32_t id) const override {
    const Token& token = vocabulary_.tokens[static_cast<std::size_t>(id)];
    if (token.type == TokenType::kByte) {
      return std::string(1, static_cast<char>(*parse_byte_token(token.text)));
    }
    return with_spaces(token.text);
  }

  bool inserts_space() const override { return add_space_prefix_; }
  bool adds_bos() const override { return true; }

 private:
  /// Only normal tokens come out of text: a control token that is spelled out stays text, and
  /// user-defined ones have been found before.
  std::int32_t find(std::string_view text) const {
    if (text.size() > longest_) return kNoToken;
    const auto found = ids_.find(text);
    return found == ids_.end() ? kNoToken : found->second;
  }

  /// A character without a token: its bytes; or one unknown token for a run of such characters.
  Status add_unmatched(std::string_view character, bool& after_unknown,
                       std::vector<std::int32_t>& ids) const {
    const auto byte_id = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
    if (std::ranges::none_of(character, [&](char c) { return byte_id(c) == kNoToken; })) {
      for (const char c : character) ids.push_back(byte_id(c));
      after_unknown = false;
      return ok();
    }
    if (!vocabulary_.unk) {
      return fail(
          ErrorCode::kUnsupported,
          "the vocabulary has no token for U+{:04X}, none for its bytes and no unknown token",
          static_cast<std::uint32_t>(utf8_code_point(character)));
    }
    if (!after_unknown) ids.push_back(*vocabulary_.unk);
    after_unknown = true;
    return ok();
  }

  const Vocabulary& vocabulary_;
  bool add_space_prefix_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  ///< normal tokens by text
  std::size_t longest_ = 0;                                 ///< of these texts, in bytes
  std::array<std::int32_t, 256> byte_ids_;
};

}  // namespace

Result<std::unique_ptr<const Model>> make_spm_model(const Vocabulary& vocabulary) {
  auto model = std::make_unique<SpmModel>(vocabulary);
  SHUNT_TRY(model->index());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
