// Texts as documents of tokens.
#include <algorithm>
#include <numeric>

#include "base/guarded.h"
#include "shunt/message.h"
#include "shunt/train.h"

namespace shunt {

namespace {

/// The length of the line's end that a text begins or ends with.
std::size_t line_end_in_front(std::string_view text) {
  return text.starts_with("\r\n") ? 2 : text.starts_with('\n') ? 1 : 0;
}
std::size_t line_end_behind(std::string_view text) {
  return text.ends_with("\r\n") ? 2 : text.ends_with('\n') ? 1 : 0;
}

/// Calls f(piece) for each text between the ends.
template <class F>
Status for_each_document(std::string_view text, std::string_view end, F f) {
  while (!text.empty()) {
    const std::size_t found = text.find(end);
    if (found == std::string_view::npos) return f(text);
    std::string_view document = text.substr(0, found);
    document.remove_suffix(line_end_behind(document));
    SHUNT_TRY(f(document));
    text.remove_prefix(found + end.size());
    text.remove_prefix(line_end_in_front(text));
  }
  return ok();
}

}  // namespace

std::uint64_t TrainingText::text_bytes() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

Result<TrainingText> read_training_text(const text::Tokenizer& tokenizer, std::string_view text) {
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  const std::string_view end =
      vocabulary.eos ? tokenizer.token_text(*vocabulary.eos) : std::string_view();
  if (end.empty()) {
    return fail(ErrorCode::kUnsupported,
                "the vocabulary has no end of sequence with a text, which ends each document");
  }
  const bool begins = vocabulary.bos && tokenizer.adds_bos();
  const auto read = [&]() -> Result<TrainingText> {
    TrainingText result;
    const auto add = [&](std::string_view document) -> Status {
      SHUNT_ASSIGN(const auto ids,
                   tokenizer.encode(document, {.add_special = false, .parse_special = true}));
      if (ids.empty()) return ok();
      result.starts.push_back(result.tokens.size());
      if (begins) result.tokens.push_back(*vocabulary.bos);
      result.tokens.insert(result.tokens.end(), ids.begin(), ids.end());
      result.tokens.push_back(*vocabulary.eos);
      std::string unseen;  // nothing predicts the first token then
      if (!begins) {
        SHUNT_ASSIGN(unseen, tokenizer.piece(ids.front()));
      }
      result.bytes.push_back(document.size() - std::min(document.size(), unseen.size()));
      return ok();
    };
    SHUNT_TRY(for_each_document(text, end, add));
    if (result.tokens.empty()) return invalid("there is no text: it has no document");
    result.starts.push_back(result.tokens.size());
    return result;
  };
  return guarded(read);
}

Result<TrainingText> split_off(TrainingText& text, double share) {
  if (!(share > 0 && share < 1)) {
    return invalid("a share of {} can't be split off: it must be between 0 and 1", share);
  }
  const double wanted = share * static_cast<double>(text.tokens.size());
  std::size_t first = text.documents();
  while (first > 1 && static_cast<double>(text.tokens.size() - text.starts[first]) < wanted) {
    --first;
  }
  if (first == 0 || first == text.documents()) {
    return invalid("{} can't be shared by training and validation",
                   counted(text.documents(), "document"));
  }
  const auto split = [&]() -> Result<TrainingText> {
    TrainingText tail;
    const std::size_t cut = text.starts[first];
    const auto at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
    tail.tokens.assign(text.tokens.begin() + at(cut), text.tokens.end());
    for (std::size_t i = first; i < text.starts.size(); ++i) {
      tail.starts.push_back(text.starts[i] - cut);
    }
    text.tokens.resize(cut);
    text.starts.resize(first + 1);
    tail.bytes.assign(text.bytes.begin() + at(first), text.bytes.end());
    text.bytes.resize(first);
    return tail;
  };
  return guarded(split);
}

}  // namespace shunt
