// The "gpt2" kind: byte-level BPE. Text is cut into words; in each, bytes merge by the rank of
// their pair. Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units"
// (2016).
#include <array>
#include <optional>
#include <unordered_map>

#include "shunt/message.h"
#include "text/byte_alphabet.h"
#include "text/merge.h"
#include "text/model.h"
#include "text/pretokenizer.h"

namespace shunt::text {
namespace {

class BpeModel final : public Model {
 public:
  BpeModel(const Vocabulary& vocabulary, Pretokenizer pretokenizer)
      : vocabulary_(vocabulary), pretokenizer_(std::move(pretokenizer)) {}

  Status index() {
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const Token& token = vocabulary_.tokens[i];
      // Control tokens never come out of text; user-defined ones are not in the byte alphabet.
      if (token.type != TokenType::kNormal || token.text.empty()) continue;
      if (auto bytes = bytes_from_alphabet(token.text)) {
        symbols_.try_emplace(std::move(*bytes), static_cast<std::int32_t>(i));
      }
    }
    for (std::size_t byte = 0; byte < byte_symbols_.size(); ++byte) {
      byte_symbols_[byte] = intern(std::string(1, static_cast<char>(byte)));
    }
    for (std::size_t i = 0; i < vocabulary_.merges.size(); ++i) SHUNT_TRY(add_merge(i));
    return ok();
  }

  Status encode(std::string_view text, bool /*after_special*/,
                std::vector<std::int32_t>& ids) const override {
    SHUNT_ASSIGN(const std::vector<std::string_view> words, pretokenizer_.split(text));
    Merger merger;
    std::string key;
    for (const std::string_view word : words) {
      if (pretokenizer_.rule().ignore_merges) {
        const auto found = symbols_.find(key.assign(word));
        if (found != symbols_.end() && is_token(found->second)) {
          ids.push_back(found->second);
          continue;
        }
      }
      SHUNT_TRY(encode_word(word, merger, ids));
    }
    return ok();
  }

  std::string bytes(std::int32_t id) const override {
    return bytes_from_alphabet_leniently(vocabulary_.tokens[static_cast<std::size_t>(id)].text);
  }

  bool adds_bos() const override { return pretokenizer_.rule().add_bos; }

 private:
  /// Symbols are tokens, by their ids. Behind these are strings that only merges or no token at all
  /// name.
  bool is_token(std::int32_t symbol) const {
    return static_cast<std::size_t>(symbol) < vocabulary_.tokens.size();
  }

  std::int32_t intern(std::string bytes) {
    const auto [found, is_new] = symbols_.try_emplace(std::move(bytes), next_symbol_);
    if (is_new) ++next_symbol_;
    return found->second;
  }

  static std::uint64_t pair(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }

  Status add_merge(std::size_t rank) {
    const std::string_view merge = vocabulary_.merges[rank];
    const std::size_t space = merge.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
        merge.find(' ', space + 1) != std::string_view::npos) {
      return invalid("merge {} is \"{}\" and not two parts with a space between", rank, merge);
    }
    const auto left = bytes_from_alphabet(merge.substr(0, space));
    const auto right = bytes_from_alphabet(merge.substr(space + 1));
    if (!left || !right) return ok();  // no bytes ever look like that, so it never applies
    const std::int32_t result = intern(*left + *right);
    merges_.try_emplace(pair(intern(*left), intern(*right)),
                        Merge{static_cast<double>(rank), result});
    return ok();
  }

  Status encode_word(std::string_view word, Merger& merger, std::vector<std::int32_t>& ids) const {
    merger.clear();
    for (const char c : word) merger.add(1, byte_symbols_[static_cast<unsigned char>(c)]);
    merger.run([&](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
      const auto found = merges_.find(pair(left.id, right.id));
      if (found == merges_.end()) return std::nullopt;
      return found->second;
    });
    Status status;
    merger.for_each([&](const Symbol& symbol) {
      if (!status) return;
      if (is_token(symbol.id)) {
        ids.push_back(symbol.id);
      } else {
        status = add_bytes(word.substr(symbol.begin, symbol.size), ids);
      }
    });
    return status;
  }

  /// For a symbol that is no token: its bytes one by one.
  Status add_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const {
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (is_token(byte_symbols_[byte])) {
        ids.push_back(byte_symbols_[byte]);
      } else if (vocabulary_.unk) {
        ids.push_back(*vocabulary_.unk);
      } else {
        return fail(ErrorCode::kUnsupported,
                    "the vocabulary has no token for byte 0x{:02X} and no unknown token", byte);
      }
    }
    return ok();
  }

  const Vocabulary& vocabulary_;
  Pretokenizer pretokenizer_;
  std::int32_t next_symbol_ = static_cast<std::int32_t>(vocabulary_.tokens.size());
  std::unordered_map<std::string, std::int32_t> symbols_;  ///< by their bytes
  std::array<std::int32_t, 256> byte_symbols_{};
  std::unordered_map<std::uint64_t, Merge> merges_;  ///< by pair of symbols
};

}  // namespace

Result<std::unique_ptr<const Model>> make_bpe_model(const Vocabulary& vocabulary) {
  SHUNT_ASSIGN(Pretokenizer pretokenizer, Pretokenizer::create(vocabulary.pre));
  auto model = std::make_unique<BpeModel>(vocabulary, std::move(pretokenizer));
  SHUNT_TRY(model->index());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
