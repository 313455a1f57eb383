#include "text/jinja/wrap_text.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

/// Other white space does not divide words.
bool divides_words(char32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_of_word(char32_t c) {
  return is_alphanumeric(c) || c == '_';
}

bool is_of_word_but_digits(char32_t c) {
  return is_of_word(c) && !is_decimal_digit(c);
}

/// A dash may follow it.
bool is_of_word_or_punctuation(char32_t c) {
  return is_of_word(c) || (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) !=
                                           std::string_view::npos);
}

/// A part of a line that stays whole where it fits: white space, a word, a part of one.
struct LinePart {
  std::size_t begin = 0, end = 0;
  std::int64_t characters = 0;
};

/// Takes a line apart by the rules of textwrap.
class LineParts {
 public:
  LineParts(std::string_view line, bool with_hyphens) : line_(line), with_hyphens_(with_hyphens) {}

  std::optional<LinePart> next() {
    if (at_ == line_.size()) return std::nullopt;
    part_ = {at_, at_, 0};
    if (divides_words(character(at_))) {
      take_while([](char32_t c) { return divides_words(c); });
    } else if (!with_hyphens_) {
      take_while([](char32_t c) { return !divides_words(c); });
    } else if (begins_dash(at_)) {
      take_while([](char32_t c) { return c == '-'; });
    } else {
      take_word();
    }
    at_ = part_.end;
    return part_;
  }

 private:
  /// 0 at the end, which is no part of a word.
  char32_t character(std::size_t at) const {
    return at < line_.size() ? utf8_code_point(line_.substr(at)) : 0;
  }
  std::size_t behind(std::size_t at) const {
    return at < line_.size() ? at + utf8_size(line_.substr(at)) : at;
  }
  /// The character in front of `at`, where `at` goes; 0 at the start.
  char32_t step_back(std::size_t& at) const {
    if (at == 0) return 0;
    do --at;
    while (at > 0 && (static_cast<unsigned char>(line_[at]) & 0xC0U) == 0x80U);
    return character(at);
  }

  void take_one() {
    part_.end = behind(part_.end);
    ++part_.characters;
  }

  template <class Holds>
  void take_while(Holds holds) {
    while (part_.end < line_.size() && holds(character(part_.end))) take_one();
  }

  /// Up to a hyphen that divides the word, white space, or a dash.
  void take_word() {
    do {
      take_one();
      if (is_hyphen(part_.end)) return take_one();
    } while (part_.end < line_.size() && !divides_words(character(part_.end)) &&
             !begins_dash(part_.end));
  }

  /// Two hyphens or more behind a word, with a word behind them.
  bool begins_dash(std::size_t at) const {
    if (character(at) != '-' || character(at + 1) != '-') return false;
    std::size_t before = at;
    if (!is_of_word_or_punctuation(step_back(before))) return false;
    const std::size_t end = line_.find_first_not_of('-', at);
    return end != std::string_view::npos && is_of_word(character(end));
  }

  /// A hyphen between parts of a word that have two letters, or one and another hyphen.
  bool is_hyphen(std::size_t at) const {
    if (character(at) != '-') return false;
    std::size_t before = at;
    if (!is_of_word_but_digits(step_back(before))) return false;
    char32_t second = step_back(before);
    if (second == '-') second = step_back(before);
    if (!is_of_word_but_digits(second)) return false;
    std::size_t after = at + 1;
    if (!is_of_word_but_digits(character(after))) return false;
    after = behind(after);
    if (character(after) == '-') ++after;
    return is_of_word_but_digits(character(after));
  }

  std::string_view line_;
  bool with_hyphens_;
  std::size_t at_ = 0;
  LinePart part_;
};

/// Makes lines of one line.
class LineWrapper {
 public:
  LineWrapper(const TracedText& line, const WrapOptions& options, const TracedText& separator,
              TracedText& out, Budget& budget)
      : line_(line),
        view_(line.view()),
        options_(options),
        separator_(separator),
        out_(out),
        budget_(budget),
        parts_(line.view(), options.breaks_on_hyphens) {}

  Status wrap() {
    next_ = parts_.next();
    while (next_) {
      if (has_lines_) {
        SHUNT_ASSIGN(const bool blank, is_blank(*next_));
        if (blank) next_ = parts_.next();
      }
      SHUNT_TRY(make_line());
    }
    return ok();
  }

 private:
  /// A line of the parts that fit.
  Status make_line() {
    taken_.reset();
    bool keeps_end = false;
    while (next_ && characters() + next_->characters <= options_.width) take_next();
    if (next_ && next_->characters > options_.width) {
      if (options_.breaks_long_words) {
        // textwrap breaks off an empty part then, and white space in front of it stays.
        keeps_end = characters() == options_.width;
        if (!keeps_end) break_next();
      } else if (!taken_) {
        take_next();
      }
    }
    if (!taken_) return ok();
    SHUNT_ASSIGN(const bool blank, is_blank(last_));
    const std::size_t end = blank && !keeps_end ? last_.begin : taken_->end;
    if (end == taken_->begin) return ok();
    SHUNT_TRY(budget_.make(end - taken_->begin + separator_.size()));
    if (has_lines_) out_.append(separator_);
    has_lines_ = true;
    out_.append(line_, taken_->begin, end - taken_->begin);
    return budget_.fits(out_.size());
  }

  std::int64_t characters() const { return taken_ ? taken_->characters : 0; }

  void take(const LinePart& part) {
    if (!taken_) taken_ = LinePart{part.begin, part.begin, 0};
    taken_->end = part.end;
    taken_->characters += part.characters;
    last_ = part;
  }

  void take_next() {
    take(*next_);
    next_ = parts_.next();
  }

  /// Takes the beginning of a long word, up to the last hyphen that fits.
  void break_next() {
    std::int64_t count = options_.width - characters();
    const std::string_view word = view_.substr(next_->begin, next_->end - next_->begin);
    std::size_t size = offset_of_character(word, count);
    const std::size_t hyphen = word.substr(0, size).rfind('-');
    const bool divides = options_.breaks_on_hyphens && hyphen != std::string_view::npos &&
                         word.substr(0, hyphen).find_first_not_of('-') != std::string_view::npos;
    if (divides) {
      size = hyphen + 1;
      count = count_characters(word.substr(0, size));
    }
    take({next_->begin, next_->begin + size, count});
    next_->begin += size;
    next_->characters -= count;
  }

  Result<bool> is_blank(const LinePart& part) {
    std::size_t at = part.begin;
    while (at < part.end && is_space(utf8_code_point(view_.substr(at))))
      at += utf8_size(view_.substr(at));
    SHUNT_TRY(budget_.make(at - part.begin));
    return at == part.end;
  }

  const TracedText& line_;
  std::string_view view_;
  const WrapOptions& options_;
  const TracedText& separator_;
  TracedText& out_;
  Budget& budget_;
  LineParts parts_;
  std::optional<LinePart> next_;   ///< that no line has yet
  std::optional<LinePart> taken_;  ///< all parts of the line at hand
  LinePart last_;                  ///< the last one of them
  bool has_lines_ = false;
};

}  // namespace

Result<TracedText> wrap_lines(const std::vector<TracedText>& lines, const WrapOptions& options,
                              const TracedText& separator, Budget& budget) {
  TracedText result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    SHUNT_TRY(budget.make(lines[i].size() + separator.size()));
    // Looking at a byte takes longer than a copy.
    if (!budget.spend(1 + lines[i].size() / 8)) return budget.spent();
    if (i > 0) result.append(separator);
    SHUNT_TRY(LineWrapper(lines[i], options, separator, result, budget).wrap());
  }
  SHUNT_TRY(budget.make(result.size()));
  return result;
}

}  // namespace shunt::text::jinja
