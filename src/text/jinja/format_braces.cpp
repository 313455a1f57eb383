// "{}: {name}".format(...)
#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/format.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

constexpr std::int64_t kMostFieldWidth = 1 << 20;

/// Digits at the front of `text`, which are taken away; negative if there are none.
std::int64_t take_number(std::string_view& text) {
  std::int64_t number = -1;
  while (!text.empty() && is_digit(static_cast<unsigned char>(text.front()))) {
    number = std::min(std::max<std::int64_t>(number, 0) * 10 + (text.front() - '0'),
                      kMostFieldWidth + 1);
    text.remove_prefix(1);
  }
  return number;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// The letters that a format may have for a value; none if it takes no format.
std::string_view types_of(const Value& value) {
  if (value.as_text() != nullptr) return "s";
  if (value.as<double>() != nullptr) return "eEfFgGn%";
  const bool is_integer = value.as<bool>() != nullptr || value.as<std::int64_t>() != nullptr;
  return is_integer ? "bcdeEfFgGnoxX%" : "";
}

/// Whether a spec has a part that texts can't have.
bool is_for_numbers(const FormatSpec& spec) {
  const bool aligns = spec.align == '=' && spec.fill != "0";
  return aligns || spec.given_sign != '\0' || spec.alternate || spec.group != '\0';
}

/// [[fill]align] at the front of a text that is not empty.
void take_alignment(std::string_view& text, FormatSpec& spec) {
  constexpr std::string_view kAligns = "<>=^";
  const std::size_t first = utf8_size(text);
  if (text.size() > first && kAligns.find(text[first]) != std::string_view::npos) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (kAligns.find(text.front()) != std::string_view::npos) {
    spec.align = text.front();
    text.remove_prefix(1);
  }
}

/// [[fill]align][sign][#][0][width][,][.precision][type]
Result<FormatSpec> read_spec(std::string_view text, const Value& value) {
  FormatSpec spec;
  if (text.empty()) return spec;
  if (value.as<BigInteger>() != nullptr) return beyond_64_bits();
  if (types_of(value).empty()) return invalid("a '{}' takes no format", type_name(value));
  spec.is_given = true;
  take_alignment(text, spec);
  for (const char sign : {'+', '-', ' '}) {
    if (take(text, sign)) spec.sign = spec.given_sign = sign;
  }
  spec.alternate = take(text, '#');
  if (text.starts_with('0') && spec.align == '\0') {
    spec.fill = "0";
    spec.align = value.as_text() != nullptr ? '<' : '=';
  }
  spec.width = std::max<std::int64_t>(take_number(text), 0);
  for (const char group : {',', '_'}) {
    if (take(text, group)) spec.group = group;
  }
  if (take(text, '.')) {
    spec.precision = take_number(text);
    if (spec.precision < 0) return invalid("a precision in a format is missing");
  }
  if (spec.width > kMostFieldWidth) return invalid("a width in a format is too large");
  if (!text.empty()) {
    spec.type = text.front();
    text.remove_prefix(1);
  }
  const std::string_view types = types_of(value);
  if (!text.empty() || (spec.type != '\0' && types.find(spec.type) == std::string_view::npos)) {
    return invalid("a field of a format is not valid for '{}'", type_name(value));
  }
  if (value.as_text() != nullptr && is_for_numbers(spec)) {
    return invalid("a format of a 'str' has no sign, \"#\", \",\" and \"=\"");
  }
  if (spec.type == 's' || spec.type == 'd') spec.type = '\0';
  return spec;
}

class BracesFormat {
 public:
  BracesFormat(Run& run, const TracedText& format, const Arguments& arguments)
      : run_(run), format_(format), view_(format.view()), arguments_(arguments) {}

  Result<Value> apply() {
    SHUNT_TRY(run_.budget().make(format_.size()));
    while (at_ < view_.size()) {
      const std::size_t mark = std::min(view_.find_first_of("{}", at_), view_.size());
      out_.append(format_, at_, mark - at_);
      at_ = mark;
      if (at_ == view_.size()) break;
      const bool doubled = at_ + 1 < view_.size() && view_[at_ + 1] == view_[at_];
      if (doubled) {
        out_.append(format_, at_, 1);
        at_ += 2;
      } else if (view_[at_] == '}') {
        return invalid("a single \"}}\" in a format");
      } else {
        SHUNT_TRY(append_field());
      }
      SHUNT_TRY(run_.budget().make(out_.size()));
    }
    return Value::text(std::move(out_));
  }

 private:
  /// The "}" of the field at hand, which may have fields inside.
  std::size_t end_of_field() const {
    std::size_t depth = 0;
    for (std::size_t i = at_; i < view_.size(); ++i) {
      if (view_[i] == '{') ++depth;
      if (view_[i] == '}' && --depth == 0) return i;
    }
    return std::string_view::npos;
  }

  Status append_field() {
    const std::size_t end = end_of_field();
    if (end == std::string_view::npos) return invalid("a \"{{\" in a format has no end");
    std::string_view field = view_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    std::string_view spec_text;
    if (const std::size_t colon = field.find(':'); colon != std::string_view::npos) {
      spec_text = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    char conversion = '\0';
    if (const std::size_t mark = field.find('!'); mark != std::string_view::npos) {
      conversion = mark + 2 == field.size() ? field[mark + 1] : '?';
      if (conversion != 'r' && conversion != 's' && conversion != 'a')
        return invalid("an unknown \"!\" in a format");
      field = field.substr(0, mark);
    }
    SHUNT_ASSIGN(Value value, value_of(field));
    if (conversion != '\0') {
      TracedText text;
      SHUNT_TRY(conversion == 's' ? append_text(text, value, run_.budget())
                                  : append_repr(text, value, run_.budget()));
      value = Value::text(conversion == 'a' ? escape_beyond_ascii(text) : std::move(text));
    }
    SHUNT_ASSIGN(const std::string whole_spec, with_values(spec_text));
    SHUNT_ASSIGN(const FormatSpec spec, read_spec(whole_spec, value));
    return append_formatted(out_, value, spec, run_.budget());
  }

  /// A spec with its own fields, as in "{:{}}", filled in.
  Result<std::string> with_values(std::string_view spec) {
    TracedText filled;
    while (true) {
      const std::size_t begin = std::min(spec.find('{'), spec.size());
      filled.append(spec.substr(0, begin), true);
      if (begin == spec.size()) return std::string(filled.view());
      const std::size_t end = std::min(spec.find('}', begin), spec.size());
      SHUNT_ASSIGN(const Value value, value_of(spec.substr(begin + 1, end - begin - 1)));
      SHUNT_TRY(append_text(filled, value, run_.budget()));
      SHUNT_TRY(run_.budget().make(filled.size()));
      spec.remove_prefix(std::min(end + 1, spec.size()));
    }
  }

  Result<Value> first_value(std::string_view name) {
    if (name.empty() || is_digit(static_cast<unsigned char>(name.front()))) {
      std::string_view rest = name;
      const std::int64_t number = name.empty() ? next_++ : take_number(rest);
      if (number >= static_cast<std::int64_t>(arguments_.positional.size())) {
        return invalid("the format has more fields than there are values");
      }
      return arguments_.positional[static_cast<std::size_t>(number)];
    }
    for (const auto& [key, value] : arguments_.named) {
      if (key == name) return value;
    }
    return invalid("the format's \"{}\" has no value", name);
  }

  /// name.attribute[element]
  Result<Value> value_of(std::string_view field) {
    const std::size_t end = std::min(field.find_first_of(".["), field.size());
    SHUNT_ASSIGN(Value value, first_value(field.substr(0, end)));
    field.remove_prefix(end);
    while (!field.empty()) {
      const bool is_element = field.front() == '[';
      field.remove_prefix(1);
      const std::size_t stop = std::min(field.find_first_of(is_element ? "]" : ".["), field.size());
      std::string_view name = field.substr(0, stop);
      std::string_view digits = name;
      const std::int64_t number = is_element ? take_number(digits) : -1;
      const bool is_number = number >= 0 && digits.empty();
      const Value key = is_number ? Value(number) : Value::text(std::string(name), true);
      SHUNT_ASSIGN(value, item_of(run_, value, key));
      field.remove_prefix(is_element ? std::min(stop + 1, field.size()) : stop);
    }
    return value;
  }

  Run& run_;
  const TracedText& format_;
  std::string_view view_;
  const Arguments& arguments_;
  std::size_t at_ = 0;
  std::int64_t next_ = 0;
  TracedText out_;
};

}  // namespace

Result<Value> format_braces(Run& run, const TracedText& format, const Arguments& arguments) {
  return BracesFormat(run, format, arguments).apply();
}

}  // namespace shunt::text::jinja
