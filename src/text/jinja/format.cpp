#include "text/jinja/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

constexpr std::int64_t kMostPrecision = 1000;

/// Groups of three digits, with a character between them.
std::string grouped(std::string digits, char separator) {
  std::size_t end = digits.find_first_not_of("0123456789");
  if (end == std::string::npos) end = digits.size();
  for (std::size_t at = end; at > 3; at -= 3) digits.insert(at - 3, 1, separator);
  return digits;
}

/// Digits of a float that is not negative.
Result<std::string> float_digits(double number, const FormatSpec& spec) {
  const std::int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  if (precision > kMostPrecision) return invalid("a precision of {} is too large", precision);
  if (spec.type == '\0' && spec.precision < 0) return float_text(number);
  const bool is_percent = spec.type == '%';
  const char type = is_percent ? 'f' : spec.type == '\0' || spec.type == 'n' ? 'g' : spec.type;
  const std::array<char, 6> pattern = {'%', '.', '*', type, '\0', '\0'};
  std::array<char, 1400> room{};
  const double shown = is_percent ? number * 100 : number;
  const int size =
      std::snprintf(room.data(), room.size(), pattern.data(), static_cast<int>(precision), shown);
  std::string digits(room.data(), static_cast<std::size_t>(std::max(size, 0)));
  return is_percent ? digits + "%" : digits;
}

/// The prefix and the digits of a number, without its sign.
struct Digits {
  std::string prefix, digits;
  bool negative = false;
};

Result<std::string> text_of_code(std::int64_t code) {
  if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    return invalid("{} is no character", code);
  }
  std::string text;
  append_utf8(static_cast<char32_t>(code), text);
  return text;
}

Result<Digits> digits_of(const Value& value, const FormatSpec& spec) {
  constexpr std::string_view kFloatTypes = "eEfFgG%n";
  Digits result;
  std::int64_t room = 0;
  const std::int64_t* integer = integer_of(value, room);
  const double* number = value.as<double>();
  const bool as_float =
      number != nullptr ||
      (spec.type != '\0' && kFloatTypes.find(spec.type) != std::string::npos && spec.type != 'n');
  if (as_float) {
    const double shown = number != nullptr ? *number : static_cast<double>(*integer);
    result.negative = std::signbit(shown) && !std::isnan(shown);
    SHUNT_ASSIGN(result.digits, float_digits(std::fabs(shown), spec));
    return result;
  }
  const char type = spec.type;
  if (type == 'c') {
    SHUNT_ASSIGN(result.digits, text_of_code(*integer));
    return result;
  }
  const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  result.digits = integer_digits(*integer, base);
  result.negative = result.digits.starts_with('-');
  if (result.negative) result.digits.erase(0, 1);
  if (type == 'X') {
    std::transform(result.digits.begin(), result.digits.end(), result.digits.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
  }
  if (spec.alternate && base != 10) result.prefix = std::string("0") + type;
  return result;
}

Status append_number(TracedText& out, const Value& value, const FormatSpec& spec, Budget& budget) {
  SHUNT_ASSIGN(Digits number, digits_of(value, spec));
  if (spec.group != '\0') number.digits = grouped(std::move(number.digits), spec.group);
  std::string sign;
  if (number.negative) {
    sign = "-";
  } else if (spec.sign != '-') {
    sign = spec.sign;
  }
  const std::string front = sign + number.prefix;
  const std::int64_t missing =
      spec.width - static_cast<std::int64_t>(front.size() + number.digits.size());
  SHUNT_TRY(budget.make(static_cast<std::size_t>(std::max<std::int64_t>(missing, 0))));
  const auto fill = [&](std::int64_t count) {
    std::string text;
    for (std::int64_t i = 0; i < count; ++i) text += spec.fill;
    return text;
  };
  const char align = spec.align == '\0' ? '>' : spec.align;
  const std::int64_t left = align == '^' ? missing / 2 : align == '<' ? 0 : missing;
  if (align == '=') {
    out.append(front + fill(missing) + number.digits, true);
  } else {
    out.append(fill(left) + front + number.digits + fill(missing - left), true);
  }
  return ok();
}

Status append_padded(TracedText& out, const TracedText& text, const FormatSpec& spec,
                     Budget& budget) {
  const std::int64_t count = count_characters(text.view());
  const std::int64_t kept = spec.precision < 0 ? count : std::min(count, spec.precision);
  const std::size_t size = offset_of_character(text.view(), kept);
  const std::int64_t missing = std::max<std::int64_t>(spec.width - kept, 0);
  SHUNT_TRY(budget.make(size + static_cast<std::size_t>(missing)));
  const char align = spec.align == '\0' ? '<' : spec.align;
  const std::int64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  const auto fill = [&](std::int64_t times) {
    std::string filling;
    for (std::int64_t i = 0; i < times; ++i) filling += spec.fill;
    out.append(filling, true);
  };
  fill(left);
  out.append(text, 0, size);
  fill(missing - left);
  return ok();
}

}  // namespace

TracedText escape_beyond_ascii(const TracedText& text) {
  TracedText result;
  for (const TracedText::Piece& piece : text.pieces()) {
    std::string escaped;
    for (std::size_t i = 0; i < piece.bytes.size(); i += utf8_size(piece.bytes.substr(i))) {
      const auto code = static_cast<std::uint32_t>(utf8_code_point(piece.bytes.substr(i)));
      if (code < 0x80) {
        escaped += static_cast<char>(code);
      } else {
        escaped += code < 0x100     ? fmt::format("\\x{:02x}", code)
                   : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                    : fmt::format("\\U{:08x}", code);
      }
    }
    result.append(escaped, piece.from_template);
  }
  return result;
}

std::string integer_digits(std::int64_t number, int base) {
  switch (base) {
    case 16:
      return fmt::format("{:x}", number);
    case 8:
      return fmt::format("{:o}", number);
    case 2:
      return fmt::format("{:b}", number);
    default:
      return fmt::format("{}", number);
  }
}

Status append_formatted(TracedText& out, const Value& value, const FormatSpec& spec,
                        Budget& budget) {
  const bool is_shown_as_text = value.as<bool>() != nullptr && spec.type == '\0' && !spec.is_given;
  const bool is_plain = value.as<BigInteger>() != nullptr || !is_number(value);
  if (is_plain || is_shown_as_text) {
    TracedText text;
    SHUNT_TRY(append_text(text, value, budget));
    return append_padded(out, text, spec, budget);
  }
  return append_number(out, value, spec, budget);
}

}  // namespace shunt::text::jinja
