// "%s: %d" % values
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/format.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace shunt::text::jinja {
namespace {

constexpr std::int64_t kMostWidth = 1 << 20;

class PercentFormat {
 public:
  PercentFormat(const Text& format, const Value& values, Budget& budget)
      : format_(*format.text),
        view_(format.text->view()),
        safe_(format.safe),
        values_(values),
        budget_(budget) {
    const Sequence* sequence = values.as_sequence();
    if (sequence != nullptr && sequence->kind == Sequence::Kind::kTuple) tuple_ = sequence;
  }

  Result<Value> apply() {
    SHUNT_TRY(budget_.make(format_.size()));
    while (at_ < view_.size()) {
      const std::size_t mark = std::min(view_.find('%', at_), view_.size());
      out_.append(format_, at_, mark - at_);
      at_ = mark;
      if (at_ < view_.size()) SHUNT_TRY(append_field());
    }
    // Python takes a list for a mapping here, of which nothing needs to be used.
    const Sequence* sequence = values_.as_sequence();
    const bool is_like_mapping = values_.as_mapping() != nullptr ||
                                 (sequence != nullptr && sequence->kind != Sequence::Kind::kTuple);
    const bool used_up = tuple_ != nullptr ? next_ == tuple_->items.size() : next_ == 1;
    if (!used_up && !is_like_mapping) return invalid("not all values of the \"%\" were used");
    SHUNT_TRY(budget_.make(out_.size()));
    return Value::text(std::move(out_), safe_);
  }

 private:
  char current() const { return at_ < view_.size() ? view_[at_] : '\0'; }

  Result<Value> next_value() {
    if (tuple_ == nullptr) {
      if (next_ > 0) return invalid("there are not enough values for the \"%\"");
      ++next_;
      return values_;
    }
    if (next_ >= tuple_->items.size()) {
      return invalid("there are not enough values for the \"%\"");
    }
    return tuple_->items[next_++];
  }

  Result<std::int64_t> read_number() {
    std::int64_t number = 0;
    if (current() == '*') {
      ++at_;
      SHUNT_ASSIGN(const Value value, next_value());
      std::int64_t room = 0;
      const std::int64_t* integer = integer_of(value, room);
      if (integer == nullptr) return invalid("\"*\" in a format needs an integer");
      number = *integer;
    }
    while (is_digit(static_cast<unsigned char>(current()))) {
      number = std::min(number * 10 + (view_[at_++] - '0'), kMostWidth + 1);
    }
    if (number > kMostWidth) return invalid("a width in a format is more than {}", kMostWidth);
    return number;
  }

  void read_flags(FormatSpec& spec) {
    for (bool more = true; more;) {
      switch (current()) {
        case '-':
          spec.align = '<';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          if (spec.sign != '+') spec.sign = ' ';
          break;
        case '0':
          zeros_ = true;
          break;
        case '#':
          spec.alternate = true;
          break;
        default:
          more = false;
      }
      if (more) ++at_;
    }
  }

  Result<Value> named_value() {
    const std::size_t end = view_.find(')', at_);
    if (end == std::string_view::npos) return invalid("a \"%(\" in a format has no end");
    const Mapping* mapping = values_.as_mapping();
    if (mapping == nullptr) return invalid("a format with names needs a mapping");
    const std::string_view name = view_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    const Value* found = mapping->find(name);
    if (found == nullptr) return invalid("the format's \"{}\" is not in the mapping", name);
    return *found;
  }

  Status append_field() {
    ++at_;
    if (current() == '%') {
      out_.append(format_, at_++, 1);
      return ok();
    }
    FormatSpec spec;
    Value value;
    const bool is_named = current() == '(';
    if (is_named) {
      SHUNT_ASSIGN(value, named_value());
    }
    zeros_ = false;
    read_flags(spec);
    SHUNT_ASSIGN(spec.width, read_number());
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -std::max(spec.width, -kMostWidth);
    }
    if (current() == '.') {
      ++at_;
      SHUNT_ASSIGN(spec.precision, read_number());
    }
    const char type = current();
    if (type == '\0') return invalid("the format ends within a field");
    ++at_;
    if (!is_named) {
      SHUNT_ASSIGN(value, next_value());
    }
    return append_value(type, std::move(value), spec);
  }

  Status append_value(char type, Value value, FormatSpec spec) {
    constexpr std::string_view kTexts = "sra";
    constexpr std::string_view kNumbers = "diuoxXeEfFgGc";
    if (kTexts.find(type) != std::string_view::npos) {
      TracedText text;
      SHUNT_TRY(type == 's' ? append_text(text, value, budget_)
                            : append_repr(text, value, budget_));
      if (type == 'a') text = escape_beyond_ascii(text);
      if (safe_) text = escape_html(text);
      if (spec.align == '\0') spec.align = '>';
      return append_formatted(out_, Value::text(std::move(text)), spec, budget_);
    }
    if (kNumbers.find(type) == std::string_view::npos) {
      return invalid("\"%{}\" is no field of a format", type);
    }
    return append_number_field(type, std::move(value), spec);
  }

  Status append_number_field(char type, Value value, FormatSpec spec) {
    const TracedText* text = value.as_text();
    if (type == 'c' && text != nullptr && count_characters(text->view()) == 1) {
      if (spec.align == '\0') spec.align = '>';
      return append_formatted(out_, value, spec, budget_);
    }
    SHUNT_TRY(require_defined(value));
    if (value.as<BigInteger>() != nullptr) return beyond_64_bits();
    if (!is_number(value)) {
      return invalid("\"%{}\" needs a number, not '{}'", type, type_name(value));
    }
    const double* number = value.as<double>();
    const bool is_whole = type == 'd' || type == 'i' || type == 'u';
    if (number != nullptr && is_whole) {
      constexpr double kMost = 9.2e18;
      if (!(std::fabs(*number) < kMost)) return beyond_64_bits();
      value = Value(static_cast<std::int64_t>(*number));
    } else if (number != nullptr && (type == 'x' || type == 'X' || type == 'o' || type == 'c')) {
      return invalid("\"%{}\" needs an integer, not a float", type);
    }
    if (type == 'c') return append_character(value, spec);
    spec.type = is_whole ? 'd' : type;
    if (zeros_ && spec.align != '<') {
      spec.fill = "0";
      spec.align = '=';
    }
    return append_formatted(out_, value, spec, budget_);
  }

  Status append_character(const Value& value, FormatSpec spec) {
    std::int64_t room = 0;
    const std::int64_t code = *integer_of(value, room);
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return invalid("\"%c\" needs a character, not {}", code);
    }
    std::string text;
    append_utf8(static_cast<char32_t>(code), text);
    if (spec.align == '\0') spec.align = '>';
    return append_formatted(out_, Value::text(std::move(text), true), spec, budget_);
  }

  const TracedText& format_;
  std::string_view view_;
  bool safe_;
  const Value& values_;
  Budget& budget_;
  const Sequence* tuple_ = nullptr;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
  bool zeros_ = false;
  TracedText out_;
};

}  // namespace

Result<Value> format_percent(const Text& format, const Value& values, Budget& budget) {
  return PercentFormat(format, values, budget).apply();
}

}  // namespace shunt::text::jinja
