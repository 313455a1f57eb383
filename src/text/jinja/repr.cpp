// Python's str() and repr().
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "shunt/message.h"
#include "text/jinja/object.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

/// The character as repr() escapes it, or nothing.
std::string escaped_character(char32_t c, char quote) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      break;
  }
  if (c == static_cast<char32_t>(quote)) return std::string("\\") + quote;
  if (is_printable(c)) return {};
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

void append_quoted(TracedText& out, const TracedText& text) {
  const std::string_view view = text.view();
  const bool single = view.find('\'') != std::string_view::npos;
  const bool both = single && view.find('"') != std::string_view::npos;
  const char quote = single && !both ? '"' : '\'';
  out.append({&quote, 1}, false);
  std::size_t copied = 0;
  for (std::size_t i = 0; i < view.size(); i += utf8_size(view.substr(i))) {
    const std::string escape = escaped_character(utf8_code_point(view.substr(i)), quote);
    if (escape.empty()) continue;
    out.append(text, copied, i - copied);
    out.append(escape, text.from_template_at(i));
    copied = i + utf8_size(view.substr(i));
  }
  out.append(text, copied, view.size() - copied);
  out.append({&quote, 1}, false);
}

struct Brackets {
  std::string_view open, close;
};
/// By Sequence::Kind.
constexpr std::array<Brackets, 7> kBrackets = {{{"[", "]"},
                                                {"(", ")"},
                                                {"range(", ")"},
                                                {"dict_keys([", "])"},
                                                {"dict_values([", "])"},
                                                {"dict_items([", "])"},
                                                {"<generator [", "]>"}}};

std::string range_text(const RangeBounds& range) {
  if (range.step == 1) return fmt::format("range({}, {})", range.start, range.stop);
  return fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
}

Status append_sequence(TracedText& out, const Sequence& sequence, Budget& budget) {
  if (sequence.kind == Sequence::Kind::kRange) {
    out.append(range_text(sequence.range), true);
    return ok();
  }
  const Brackets& brackets = kBrackets[static_cast<std::size_t>(sequence.kind)];
  out.append(brackets.open, false);
  for (std::size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) out.append(", ", false);
    SHUNT_TRY(append_repr(out, sequence.items[i], budget));
  }
  const bool lone = sequence.kind == Sequence::Kind::kTuple && sequence.items.size() == 1;
  if (lone) out.append(",", false);
  out.append(brackets.close, false);
  return ok();
}

Status append_mapping(TracedText& out, const Mapping& mapping, Budget& budget) {
  out.append("{", false);
  bool first = true;
  for (const auto& [key, value] : mapping.entries()) {
    if (!first) out.append(", ", false);
    first = false;
    SHUNT_TRY(append_repr(out, key, budget));
    out.append(": ", false);
    SHUNT_TRY(append_repr(out, value, budget));
  }
  out.append("}", false);
  return ok();
}

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  // The shortest digits; Python writes them with an exponent below 1e-4 and from 1e16 on.
  std::array<char, 64> room{};
  const auto [end, error] =
      std::to_chars(room.data(), room.data() + room.size(), number, std::chars_format::scientific);
  std::string text(room.data(), error == std::errc() ? end : room.data());
  const std::size_t mark = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + mark + 1;
  if (*digits == '+') ++digits;
  std::from_chars(digits, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) return text;
  const auto [stop, fixed_error] =
      std::to_chars(room.data(), room.data() + room.size(), number, std::chars_format::fixed);
  text.assign(room.data(), fixed_error == std::errc() ? stop : room.data());
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

Status append_repr(TracedText& out, const Value& value, Budget& budget) {
  if (!budget.spend(1)) return budget.spent();
  const std::size_t before = out.size();
  if (const TracedText* text = value.as_text()) {
    SHUNT_TRY(budget.make(text->size()));
    SHUNT_TRY(budget.fits(out.size()));
    const bool safe = value.as<Text>()->safe;
    if (safe) out.append("Markup(", false);
    append_quoted(out, *text);
    if (safe) out.append(")", false);
    return ok();
  }
  if (const Sequence* sequence = value.as_sequence()) {
    SHUNT_TRY(append_sequence(out, *sequence, budget));
    return budget.fits(out.size() - before);
  }
  if (const Mapping* mapping = value.as_mapping()) {
    SHUNT_TRY(append_mapping(out, *mapping, budget));
    return budget.fits(out.size() - before);
  }
  if (value.is_undefined()) {
    out.append("Undefined", true);
    return ok();
  }
  return append_text(out, value, budget);
}

namespace {

/// A text of any length that the template chose.
Status append_bounded(TracedText& out, std::string_view text, Budget& budget) {
  SHUNT_TRY(budget.make(text.size()));
  SHUNT_TRY(budget.fits(out.size() + text.size()));
  out.append(text, true);
  return ok();
}

}  // namespace

Status append_text(TracedText& out, const Value& value, Budget& budget) {
  if (const TracedText* text = value.as_text()) {
    SHUNT_TRY(budget.make(text->size()));
    out.append(*text);
    return ok();
  }
  if (value.as_sequence() != nullptr || value.as_mapping() != nullptr) {
    return append_repr(out, value, budget);
  }
  if (value.is_none()) out.append("None", true);
  if (const bool* flag = value.as<bool>()) out.append(*flag ? "True" : "False", true);
  if (const auto* integer = value.as<std::int64_t>()) out.append(std::to_string(*integer), true);
  if (const double* number = value.as<double>()) out.append(float_text(*number), true);
  if (const BigInteger* big = value.as<BigInteger>())
    return append_bounded(out, *big->digits, budget);
  if (Object* const* object = value.as<Object*>())
    return append_bounded(out, (*object)->shown(), budget);
  return ok();
}

}  // namespace shunt::text::jinja
