// Filters whose result is a number, or that show one.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/text_functions.h"

namespace shunt::text::jinja {
namespace {

/// Without whitespace around it and single underscores between digits; nothing if misplaced.
std::optional<std::string> digits_to_read(const TracedText& text) {
  const TracedText stripped = strip(text, nullptr);
  std::string digits;
  char before = '_';
  for (const char c : stripped.view()) {
    if (c == '_' && before == '_') return std::nullopt;
    if (c != '_') digits += c;
    before = c;
  }
  if (before == '_') return std::nullopt;
  return digits;
}

std::optional<double> read_float(const TracedText& text) {
  auto digits = digits_to_read(text);
  if (!digits) return std::nullopt;
  const bool positive = digits->starts_with('+');
  if (positive) digits->erase(0, 1);
  if (positive && digits->starts_with('-')) return std::nullopt;
  double number = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, number);
  if (stop != end || error == std::errc::invalid_argument || digits->starts_with("+")) {
    return std::nullopt;
  }
  if (error == std::errc::result_out_of_range) number = std::strtod(digits->c_str(), nullptr);
  return number;
}

/// int() of a text without a fraction. Nothing if it is no such number.
Result<std::optional<Value>> read_integer(const TracedText& text, std::int64_t base) {
  auto digits = digits_to_read(text);
  if (!digits || base < 0 || base == 1 || base > 36) return std::nullopt;
  const bool negative = digits->starts_with('-');
  if (negative || digits->starts_with('+')) digits->erase(0, 1);
  constexpr std::array<std::pair<std::int64_t, char>, 3> kPrefixes = {
      {{16, 'x'}, {8, 'o'}, {2, 'b'}}};
  for (const auto& [prefix_base, letter] : kPrefixes) {
    const bool has_prefix =
        digits->size() > 2 && (*digits)[0] == '0' && ((*digits)[1] | 32) == letter;
    if (!has_prefix || (base != 0 && base != prefix_base)) continue;
    digits->erase(0, 2);
    base = prefix_base;
    break;
  }
  if (base == 0) base = 10;
  if (digits->starts_with('-')) return std::nullopt;
  if (negative) digits->insert(0, 1, '-');
  std::int64_t number = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, number, static_cast<int>(base));
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return Value(number);
  if (base != 10) return beyond_64_bits();
  constexpr std::size_t kMostDigits = 4300;  // as in Python
  if (digits->size() - (negative ? 1 : 0) > kMostDigits) return std::nullopt;
  return integer_value(std::move(*digits));
}

/// int() of a float: towards zero. Nothing for infinities and NaN.
std::optional<Value> whole_part(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  return integer_value(fmt::format("{:.0f}", std::trunc(number)));
}

/// int() of a text, also of one with a fraction. Nothing if it is no number.
Result<std::optional<Value>> read_whole(const TracedText& text, std::int64_t base) {
  SHUNT_ASSIGN(std::optional<Value> integer, read_integer(text, base));
  if (integer) return integer;
  const auto number = read_float(text);
  return number ? whole_part(*number) : std::nullopt;
}

Result<Value> as_integer(const Inputs& inputs) {
  SHUNT_TRY(require_defined(inputs.self));
  SHUNT_ASSIGN(const std::int64_t base, inputs.integer(1, 10));
  std::int64_t room = 0;
  if (const std::int64_t* integer = integer_of(inputs.self, room)) return Value(*integer);
  if (inputs.self.as<BigInteger>() != nullptr) return inputs.self;
  std::optional<Value> result;
  if (const double* number = inputs.self.as<double>()) {
    if (std::isinf(*number)) return invalid("an infinite float is no integer");
    result = whole_part(*number);
  } else if (const TracedText* text = inputs.self.as_text()) {
    SHUNT_ASSIGN(result, read_whole(*text, base));
  }
  if (result) return *result;
  if (inputs[0] != nullptr) return *inputs[0];
  return Value(std::int64_t{0});
}

/// A float of an integer of any size. Invalid for one beyond all floats.
Result<double> float_of(const BigInteger& big) {
  const double number = double_of(big);
  if (std::isinf(number)) return invalid("the integer is too large for a float");
  return number;
}

Result<Value> as_float(const Inputs& inputs) {
  SHUNT_TRY(require_defined(inputs.self));
  std::int64_t room = 0;
  if (inputs.self.as<double>() != nullptr) return inputs.self;
  if (const BigInteger* big = inputs.self.as<BigInteger>()) {
    SHUNT_ASSIGN(const double number, float_of(*big));
    return Value(number);
  }
  if (const std::int64_t* integer = integer_of(inputs.self, room)) {
    return Value(static_cast<double>(*integer));
  }
  if (const TracedText* text = inputs.self.as_text()) {
    if (const auto number = read_float(*text)) return Value(*number);
  }
  if (inputs[0] != nullptr) return *inputs[0];
  return Value(0.0);
}

Result<double> number_of(const Value& value) {
  std::int64_t room = 0;
  if (const std::int64_t* integer = integer_of(value, room)) return static_cast<double>(*integer);
  if (const double* number = value.as<double>()) return *number;
  if (value.as<BigInteger>() != nullptr) return beyond_64_bits();
  SHUNT_TRY(require_defined(value));
  return invalid("expected a number, not '{}'", type_name(value));
}

/// To `precision` decimal digits; halves of the exact value go to the even digit.
double rounded_decimal(double number, std::int64_t precision) {
  constexpr std::int64_t kMostDigits = 320;
  if (!std::isfinite(number) || precision > kMostDigits) return number;
  if (precision < 0) {
    const double scale = std::pow(10.0, -static_cast<double>(precision));
    return std::isinf(scale) ? 0 : std::nearbyint(number / scale) * scale;
  }
  std::array<char, 700> room{};
  std::snprintf(room.data(), room.size(), "%.*f", static_cast<int>(precision), number);
  return std::strtod(room.data(), nullptr);
}

/// An integer to tens, hundreds and so on: `zeros` is 1, 2, ... Halves go to the even digit.
Value rounded_integer(std::int64_t number, std::int64_t zeros) {
  constexpr std::int64_t kMostZeros = 19;  // more than half of the next unit has 64 bits
  if (zeros > kMostZeros) return Value(std::int64_t{0});
  std::uint64_t unit = 1;
  for (std::int64_t i = 0; i < zeros; ++i) unit *= 10;
  const auto bits = static_cast<std::uint64_t>(number);
  const std::uint64_t size = number < 0 ? 0 - bits : bits;
  const std::uint64_t rest = size % unit;
  const bool odd = size / unit % 2 == 1;
  const bool up = rest > unit - rest || (rest == unit - rest && odd);
  const std::string digits = std::to_string(size - rest + (up ? unit : 0));
  return integer_value((number < 0 ? "-" : "") + digits);
}

/// Rounded down or up at a decimal digit.
Result<Value> rounded_to_side(const Value& value, double number, std::int64_t precision, bool up) {
  std::int64_t room = 0;
  // An integer is one at each of these digits.
  if (integer_of(value, room) != nullptr && precision >= 0) return Value(number);
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = up ? std::ceil(number * scale) : std::floor(number * scale);
  if (!std::isfinite(scaled) || scale == 0) return invalid("the number can't be rounded there");
  return Value((scaled + 0.0) / scale);  // the integer 0 has no sign
}

Result<Value> rounded(const Inputs& inputs) {
  SHUNT_ASSIGN(const std::int64_t precision, inputs.integer(0, 0));
  SHUNT_ASSIGN(const TracedText* given, inputs.text(1));
  const std::string_view method = given == nullptr ? "common" : given->view();
  const bool is_common = method == "common";
  if (is_common && precision >= 0 && inputs.self.as<BigInteger>() != nullptr) return inputs.self;
  SHUNT_ASSIGN(const double number, number_of(inputs.self));
  if (is_common) {
    std::int64_t room = 0;
    const std::int64_t* integer = integer_of(inputs.self, room);
    if (integer == nullptr) return Value(rounded_decimal(number, precision));
    return precision >= 0 ? Value(*integer)
                          : rounded_integer(*integer, -std::max<std::int64_t>(precision, -100));
  }
  if (method != "ceil" && method != "floor") {
    return invalid("round knows \"common\", \"ceil\" and \"floor\"");
  }
  return rounded_to_side(inputs.self, number, precision, method == "ceil");
}

Result<Value> magnitude(const Inputs& inputs) {
  std::int64_t room = 0;
  if (const std::int64_t* integer = integer_of(inputs.self, room)) {
    const std::string digits = std::to_string(*integer);
    return integer_value(*integer < 0 ? digits.substr(1) : digits);
  }
  if (const BigInteger* big = inputs.self.as<BigInteger>()) {
    const bool negative = big->digits->starts_with('-');
    return negative ? integer_value(big->digits->substr(1)) : inputs.self;
  }
  SHUNT_ASSIGN(const double number, number_of(inputs.self));
  return Value(std::fabs(number));
}

Result<Value> size_of_file(const Inputs& inputs) {
  const TracedText* text = inputs.self.as_text();
  if (text != nullptr && !read_float(*text)) return invalid("the text is no number");
  Inputs without_default = inputs;
  without_default.given = {};
  SHUNT_ASSIGN(const Value shown, as_float(without_default));
  const double bytes = *shown.as<double>();
  const bool binary = inputs.flag(0, false);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return Value::text("1 Byte", true);
  if (bytes < base) return Value::text(fmt::format("{:.0f} Bytes", std::trunc(bytes) + 0.0), true);
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  std::size_t prefix = 0;
  const auto unit = [&] { return std::pow(base, static_cast<double>(prefix) + 2); };
  while (bytes >= unit() && prefix + 1 < kPrefixes.size()) ++prefix;
  const char letter = binary && prefix == 0 ? 'K' : kPrefixes[prefix];
  return Value::text(fmt::format("{:.1f} {}{}", base * bytes / unit(), letter, binary ? "iB" : "B"),
                     true);
}

constexpr std::array kNumberFilters = {
    Builtin{"int", "default base", as_integer},        Builtin{"float", "default", as_float},
    Builtin{"round", "precision method", rounded},     Builtin{"abs", "", magnitude},
    Builtin{"filesizeformat", "binary", size_of_file},
};

}  // namespace

std::span<const Builtin> number_filters() {
  return kNumberFilters;
}

}  // namespace shunt::text::jinja
