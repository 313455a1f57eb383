#include "text/pretokenizer.h"

#include <algorithm>
#include <string>

#include "shunt/message.h"

namespace shunt::text {
namespace {

std::string known_names() {
  std::string names;
  for (const PretokenizerRule& rule : pretokenizer_rules()) {
    for (const std::string_view name : rule.names) {
      if (name.empty()) continue;
      if (!names.empty()) names += ", ";
      names += name;
    }
  }
  return names;
}

}  // namespace

Result<Pretokenizer> Pretokenizer::create(std::string_view name) {
  for (const PretokenizerRule& rule : pretokenizer_rules()) {
    if (std::ranges::find(rule.names, name) != rule.names.end()) return compile(rule);
  }
  return fail(ErrorCode::kUnsupported,
              "tokenizer.ggml.pre is \"{}\", a pre-tokenizer that this build lacks; it has {}",
              name, known_names());
}

Result<Pretokenizer> Pretokenizer::compile(const PretokenizerRule& rule) {
  std::vector<Regex> expressions;
  for (const std::string_view pattern : rule.patterns) {
    auto expression = Regex::compile(pattern);
    if (!expression) {  // patterns are Shunt's own
      return fail(ErrorCode::kInternal, "{}", expression.error().message());
    }
    expressions.push_back(std::move(*expression));
  }
  return Pretokenizer(rule, std::move(expressions));
}

Result<std::vector<std::string_view>> Pretokenizer::split(std::string_view text) const {
  std::vector<std::string_view> words;
  Words cut(*this, text);
  while (true) {
    SHUNT_ASSIGN(const std::string_view word, cut.next());
    if (word.empty()) return words;
    words.push_back(word);
  }
}

Pretokenizer::Words::Words(const Pretokenizer& pretokenizer, std::string_view text) {
  for (const Regex& expression : pretokenizer.expressions_) levels_.emplace_back(expression);
  levels_.front().start(text);
}

Result<std::string_view> Pretokenizer::Words::next() {
  while (true) {
    SHUNT_ASSIGN(const std::string_view piece, levels_[level_].next());
    if (piece.empty()) {
      if (level_ == 0) return piece;
      --level_;
    } else if (level_ + 1 == levels_.size() || piece.size() == 1) {
      return piece;
    } else {
      levels_[++level_].start(piece);
    }
  }
}

}  // namespace shunt::text
