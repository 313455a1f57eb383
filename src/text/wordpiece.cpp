// The "bert" kind: WordPiece. In each word the longest token at its start is taken, then the
// longest at the start of the rest. Wu et al., "Google's Neural Machine Translation System" (2016);
// Devlin et al., "BERT" (2019).
#include <algorithm>
#include <unordered_map>

#include "shunt/message.h"
#include "text/bert_words.h"
#include "text/model.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace shunt::text {
namespace {

constexpr std::string_view kWordStart = "\xE2\x96\x81";  // U+2581
constexpr std::string_view kContinuation = "##";
constexpr std::size_t kMostCharactersOfAWord = 100;

bool is_in_brackets(std::string_view text) {
  return text.starts_with('[') && text.ends_with(']');
}

/// Without a key that says so: a model that distinguishes case has tokens with capital letters.
bool has_capitals(const Vocabulary& vocabulary) {
  return std::ranges::any_of(vocabulary.tokens, [](const Token& token) {
    return token.type == TokenType::kNormal && !is_in_brackets(token.text) &&
           std::ranges::any_of(token.text, [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

/// A file marks the starts of words with U+2581, or the other tokens with "##", as BERT's own
/// vocabularies do.
bool marks_continuations(const Vocabulary& vocabulary) {
  return std::ranges::none_of(
      vocabulary.tokens, [](const Token& token) { return token.text.starts_with(kWordStart); });
}

class WordPieceModel final : public Model {
 public:
  explicit WordPieceModel(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), marks_continuations_(marks_continuations(vocabulary)) {
    rules_.lower_case = vocabulary.lower_case.value_or(!has_capitals(vocabulary));
    rules_.strip_accents = vocabulary.strip_accents.value_or(rules_.lower_case);
  }

  Status index() {
    if (!vocabulary_.unk) {
      return invalid("a \"bert\" vocabulary needs an unknown token, but names none");
    }
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const Token& token = vocabulary_.tokens[i];
      if (token.type != TokenType::kNormal) continue;
      const auto [text, is_start] = parse(token.text);
      if (text.empty()) continue;
      (is_start ? starts_ : continuations_).try_emplace(text, static_cast<std::int32_t>(i));
      longest_ = std::max(longest_, text.size());
    }
    return ok();
  }

  Status encode(std::string_view text, bool /*after_special*/,
                std::vector<std::int32_t>& ids) const override {
    WordCache cache(text.size());
    while (!text.empty()) {
      // Nothing reaches across a space.
      const std::size_t size = std::min(text.find_first_of(" \t\n\r"), text.size());
      encode_run(text.substr(0, size), cache, ids);
      text.remove_prefix(std::min(size + 1, text.size()));
    }
    return ok();
  }

  std::string bytes(std::int32_t id) const override {
    const auto [text, is_start] = parse(vocabulary_.tokens[static_cast<std::size_t>(id)].text);
    return (is_start ? " " : "") + std::string(text);
  }

  bool inserts_space() const override { return true; }
  bool adds_bos() const override { return true; }
  bool adds_eos() const override { return true; }

 private:
  using Index = std::unordered_map<std::string_view, std::int32_t>;
  struct Piece {
    std::string_view text;
    bool is_start;
  };

  Piece parse(std::string_view token) const {
    const std::string_view mark = marks_continuations_ ? kContinuation : kWordStart;
    const bool marked = token.starts_with(mark) && token.size() > mark.size();
    if (marked) token.remove_prefix(mark.size());
    return {token, marked != marks_continuations_ || is_in_brackets(token)};
  }

  void encode_run(std::string_view run, WordCache& cache, std::vector<std::int32_t>& ids) const {
    const auto known = cache.find(run);
    if (!known.empty()) {
      ids.insert(ids.end(), known.begin(), known.end());
      return;
    }
    const std::size_t before = ids.size();
    BertWords words(run, rules_);
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      encode_word(word, ids);
    }
    cache.insert(run, std::span(ids).subspan(before));
  }

  /// One unknown token for a word with any part that no token matches.
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
    const std::size_t before = ids.size();
    bool known = is_short(word);
    for (std::string_view rest = word; known && !rest.empty();) {
      const Index& index = rest.size() == word.size() ? starts_ : continuations_;
      known = take_longest(index, rest, ids);
    }
    if (known) return;
    ids.resize(before);
    ids.push_back(*vocabulary_.unk);
  }

  static bool is_short(std::string_view word) {
    if (word.size() <= kMostCharactersOfAWord) return true;
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    return word.size() - static_cast<std::size_t>(std::ranges::count_if(word, continues)) <=
           kMostCharactersOfAWord;
  }

  bool take_longest(const Index& index, std::string_view& rest,
                    std::vector<std::int32_t>& ids) const {
    for (std::size_t size = std::min(rest.size(), longest_); size > 0; --size) {
      const bool cuts_a_character =
          size < rest.size() && (static_cast<unsigned char>(rest[size]) & 0xC0) == 0x80;
      if (cuts_a_character) continue;
      const auto found = index.find(rest.substr(0, size));
      if (found == index.end()) continue;
      ids.push_back(found->second);
      rest.remove_prefix(size);
      return true;
    }
    return false;
  }

  const Vocabulary& vocabulary_;
  bool marks_continuations_;
  BertRules rules_;
  Index starts_;         ///< tokens that start a word
  Index continuations_;  ///< the others
  std::size_t longest_ = 0;
};

}  // namespace

Result<std::unique_ptr<const Model>> make_wordpiece_model(const Vocabulary& vocabulary) {
  auto model = std::make_unique<WordPieceModel>(vocabulary);
  SHUNT_TRY(model->index());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
