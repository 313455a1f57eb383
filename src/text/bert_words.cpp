#include "text/bert_words.h"

#include <algorithm>

#include "text/character_class.h"
#include "text/normal_form.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kCapitalIWithDot = 0x130;  // the only one whose lower case is two characters

/// Only three of the control characters are spaces; the others are removed.
bool is_bert_space(char32_t c) {
  return c <= 0x85 ? c == ' ' || c == '\t' || c == '\n' || c == '\r' : is_white_space(c);
}

bool is_removed(char32_t c) {
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  return c == kReplacement || is_bert_control(c);
}

bool is_word_of_its_own(char32_t c) {
  if (c < 0x80) {
    const bool letter_or_digit =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return c > ' ' && c < 0x7F && !letter_or_digit;
  }
  return is_bert_punctuation(c);
}

}  // namespace

std::string_view BertWords::next() {
  word_.clear();
  while (word_.empty()) {
    if (used_ == run_.size() && !take_run()) break;
    cut_word();
  }
  return word_;
}

/// Reads up to a space or an ideograph; false at the end of the text.
bool BertWords::take_run() {
  run_.clear();
  used_ = 0;
  while (!rest_.empty()) {
    const char32_t c = utf8_code_point(rest_);
    const bool space = is_bert_space(c);
    const bool ideograph = c >= 0x3400 && is_bert_ideograph(c);
    if ((space || ideograph) && !run_.empty()) break;
    rest_.remove_prefix(utf8_size(rest_));
    if (space || is_removed(c)) continue;
    run_ += c;
    if (ideograph) break;
  }
  normalise_run();
  return !run_.empty() || !rest_.empty();
}

void BertWords::normalise_run() {
  if (rules_.strip_accents) {
    scratch_.clear();
    for (const char32_t c : run_) append_decomposed(c, scratch_);
    order_marks(scratch_);
    std::erase_if(scratch_, [](char32_t c) { return c >= 0x300 && is_bert_accent(c); });
    run_.swap(scratch_);
  }
  if (!rules_.lower_case) return;
  scratch_.clear();
  for (const char32_t c : run_) {
    if (c < 0x80) {
      scratch_ += c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    } else if (c == kCapitalIWithDot) {
      scratch_.append(U"i\u0307");
    } else {
      scratch_ += to_lower_case(c);
    }
  }
  run_.swap(scratch_);
}

/// Moves the next word of the run to word_.
void BertWords::cut_word() {
  while (used_ < run_.size()) {
    const char32_t c = run_[used_];
    if (is_word_of_its_own(c)) {
      if (!word_.empty()) return;
      append_utf8(c, word_);
      ++used_;
      return;
    }
    append_utf8(c, word_);
    ++used_;
  }
}

}  // namespace shunt::text
