// The "gpt2" kind: byte-level BPE. Text is cut into words; in each, bytes merge by the rank of
// their pair. Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units"
// (2016).
#include <array>
#include <optional>
#include <unordered_map>

#include "shunt/message.h"
#include "text/byte_alphabet.h"
#include "text/merge.h"
#include "text/merge_parts.h"
#include "text/model.h"
#include "text/normal_form.h"
#include "text/pretokenizer.h"
#include "text/word_cache.h"

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
    if (!pretokenizer_.rule().nfc || !may_need_nfc(text)) return encode_normalised(text, ids);
    return encode_normalised(to_nfc(text), ids);
  }

  std::string bytes(std::int32_t id) const override {
    return bytes_from_alphabet_leniently(vocabulary_.tokens[static_cast<std::size_t>(id)].text);
  }

  bool adds_bos() const override { return pretokenizer_.rule().add_bos; }
  bool adds_eos() const override { return pretokenizer_.rule().add_eos; }

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

  Status add_merge(std::size_t rank) {
    SHUNT_ASSIGN(const MergeParts parts, split_merge(vocabulary_.merges[rank], rank));
    const auto left = bytes_from_alphabet(parts.left);
    const auto right = bytes_from_alphabet(parts.right);
    if (!left || !right) return ok();  // no bytes ever look like that, so it never applies
    const std::int32_t result = intern(*left + *right);
    merges_.insert(static_cast<std::uint32_t>(intern(*left)),
                   static_cast<std::uint32_t>(intern(*right)),
                   {static_cast<std::uint32_t>(rank), result});
    return ok();
  }

  Status encode_normalised(std::string_view text, std::vector<std::int32_t>& ids) const {
    Pretokenizer::Words words(pretokenizer_, text);
    WordCache cache(text.size());
    Merger merger;
    while (true) {
      SHUNT_ASSIGN(const std::string_view word, words.next());
      if (word.empty()) return ok();
      const auto known = cache.find(word);
      if (!known.empty()) {
        ids.insert(ids.end(), known.begin(), known.end());
        continue;
      }
      const std::size_t before = ids.size();
      SHUNT_TRY(encode_word(word, merger, ids));
      cache.insert(word, std::span(ids).subspan(before));
    }
  }

  Status encode_word(std::string_view word, Merger& merger, std::vector<std::int32_t>& ids) const {
    if (pretokenizer_.rule().ignore_merges) {
      const auto found = symbols_.find(std::string(word));
      if (found != symbols_.end() && is_token(found->second)) {
        ids.push_back(found->second);
        return ok();
      }
    }
    merger.clear();
    for (const char c : word) merger.add(1, byte_symbols_[static_cast<unsigned char>(c)]);
    merger.run(merges_);
    Status status;
    merger.for_each([&](std::uint32_t begin, std::uint32_t size, std::int32_t id) {
      if (!status) return;
      if (is_token(id)) {
        ids.push_back(id);
      } else {
        status = add_bytes(word.substr(begin, size), ids);
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
  PairTable merges_;
};

}  // namespace

Result<std::unique_ptr<const Model>> make_bpe_model(const Vocabulary& vocabulary) {
  SHUNT_ASSIGN(Pretokenizer pretokenizer, Pretokenizer::create(vocabulary.pre));
  auto model = std::make_unique<BpeModel>(vocabulary, std::move(pretokenizer));
  SHUNT_TRY(model->index());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
