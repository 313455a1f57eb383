#include "text/bpe_train.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "shunt/message.h"
#include "shunt/train_tokenizer.h"
#include "text/byte_alphabet.h"
#include "text/normal_form.h"
#include "text/pretokenizer.h"
#include "text/pretokenizer_table.h"
#include "text/special_tokens.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

constexpr std::size_t kBytes = 256;

std::vector<Token> control_tokens(const std::vector<std::string>& texts) {
  std::vector<Token> tokens;
  tokens.reserve(texts.size());
  for (const std::string& text : texts) tokens.push_back({text, 0, TokenType::kControl});
  return tokens;
}

/// The words between special tokens.
Result<std::vector<WordCount>> count_words(std::string_view text, const Pretokenizer& pretokenizer,
                                           const SpecialTokens& special) {
  std::unordered_map<std::string_view, std::uint64_t> counts;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto found = special.find(text, begin, true);
    const std::size_t end = found ? found->begin : text.size();
    SHUNT_ASSIGN(const auto words, pretokenizer.split(text.substr(begin, end - begin)));
    for (const std::string_view word : words) ++counts[word];
    begin = found ? end + found->size : end;
  }
  std::vector<WordCount> words;
  words.reserve(counts.size());
  for (const auto& [word, count] : counts) words.push_back({std::string(word), count});
  return words;
}

}  // namespace

std::vector<std::string_view> pretokenizer_names() {
  std::vector<std::string_view> names;
  for (const PretokenizerRule& rule : pretokenizer_rules()) names.push_back(rule.names.front());
  return names;
}

Status check_bpe_train_options(const BpeTrainOptions& options) {
  SHUNT_TRY(Pretokenizer::create(options.pre));
  std::unordered_set<std::string_view> seen;
  for (const std::string& special : options.special) {
    if (special.empty()) return invalid("a special token is empty");
    if (!is_valid_utf8(special)) return invalid("a special token is not valid UTF-8");
    if (!seen.insert(special).second)
      return invalid("special token \"{}\" is given twice", special);
  }
  const std::size_t least = options.special.size() + kBytes;
  if (options.vocabulary < least) {
    return invalid(
        "a vocabulary of {} tokens is too small for {} bytes and {} special tokens: at "
        "least {}",
        options.vocabulary, kBytes, options.special.size(), least);
  }
  return ok();
}

Result<Vocabulary> train_bpe(std::string_view text, const BpeTrainOptions& options) {
  SHUNT_TRY(check_bpe_train_options(options));
  SHUNT_ASSIGN(const Pretokenizer pretokenizer, Pretokenizer::create(options.pre));
  Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = options.pre;
  vocabulary.tokens = control_tokens(options.special);
  const SanitizedText sanitized = sanitize_utf8(text);
  const std::string normalised = pretokenizer.rule().nfc ? to_nfc(sanitized.text) : sanitized.text;
  SHUNT_ASSIGN(const std::vector<WordCount> words,
               count_words(normalised, pretokenizer, SpecialTokens(vocabulary)));
  if (words.empty()) return invalid("the text has no words to learn from");

  const auto add = [&](std::string_view bytes) {
    vocabulary.tokens.push_back({alphabet_from_bytes(bytes)});
  };
  for (std::size_t byte = 0; byte < kBytes; ++byte) add(std::string(1, static_cast<char>(byte)));
  // Two merges may make the same token ("a bc", "ab c"): it gets one id.
  std::unordered_set<std::string> known;
  const std::size_t room = options.vocabulary - vocabulary.tokens.size();
  for (const auto& [left, right] : learn_merges(words, room)) {
    vocabulary.merges.push_back(
        fmt::format("{} {}", alphabet_from_bytes(left), alphabet_from_bytes(right)));
    if (known.insert(left + right).second) add(left + right);
  }
  if (!options.special.empty()) {
    vocabulary.bos = 0;
    vocabulary.eos = 0;
  }
  vocabulary.add_bos = !options.special.empty();
  vocabulary.add_eos = false;
  return vocabulary;
}

}  // namespace shunt::text
