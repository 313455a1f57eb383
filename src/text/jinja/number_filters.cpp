// Filters whose result is a number, or that show one.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
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
  if (digits->starts_with('+')) digits->erase(0, 1);
  double number = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, number);
  if (stop != end || error == std::errc::invalid_argument || digits->starts_with("+")) {
    return std::nullopt;
  }
  if (error == std::errc::result_out_of_range) number = std::strtod(digits->c_str(), nullptr);
  return number;
}

std::optional<std::int64_t> read_integer(const TracedText& text, std::int64_t base) {
  auto digits = digits_to_read(text);
  if (!digits || base < 2 || base > 36) return std::nullopt;
  const bool negative = digits->starts_with('-');
  if (negative || digits->starts_with('+')) digits->erase(0, 1);
  constexpr std::array<std::pair<std::int64_t, char>, 3> kPrefixes = {
      {{16, 'x'}, {8, 'o'}, {2, 'b'}}};
  for (const auto& [prefix_base, letter] : kPrefixes) {
    const bool has_prefix =
        digits->size() > 2 && (*digits)[0] == '0' && ((*digits)[1] | 32) == letter;
    if (base == prefix_base && has_prefix) digits->erase(0, 2);
  }
  if (digits->starts_with('-')) return std::nullopt;
  if (negative) digits->insert(0, 1, '-');
  std::int64_t number = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, number, static_cast<int>(base));
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// Makes an integer of any size.
Value big_integer(std::string digits) {
  return Value(BigInteger{std::make_shared<const std::string>(std::move(digits))});
}

/// int() of a float: towards zero. False for infinities and NaN.
bool whole_part(double number, Value& result) {
  constexpr double kLimit = 9223372036854775808.0;
  if (!std::isfinite(number)) return false;
  if (number > -kLimit && number < kLimit) {
    result = Value(static_cast<std::int64_t>(number));
  } else {
    result = big_integer(fmt::format("{:.0f}", number));
  }
  return true;
}

double big_as_double(const BigInteger& big) {
  return std::strtod(big.digits->c_str(), nullptr);
}

/// int() of a text, also of one with a fraction. False if it is no number.
bool read_whole(const TracedText& text, std::int64_t base, Value& result) {
  if (const auto integer = read_integer(text, base)) {
    result = Value(*integer);
    return true;
  }
  const auto digits = digits_to_read(text);
  constexpr std::size_t kMostDigits = 4300;  // as in Python
  const bool is_big = base == 10 && digits && !digits->empty() && digits->size() <= kMostDigits &&
                      digits->find_first_not_of("0123456789") == std::string::npos;
  if (is_big) {
    result = big_integer(*digits);
    return true;
  }
  const auto number = read_float(text);
  return number && whole_part(*number, result);
}

Result<Value> as_integer(const Inputs& inputs) {
  SHUNT_TRY(require_defined(inputs.self));
  SHUNT_ASSIGN(const std::int64_t base, inputs.integer(1, 10));
  std::int64_t room = 0;
  Value result;
  if (const std::int64_t* integer = integer_of(inputs.self, room)) return Value(*integer);
  if (inputs.self.as<BigInteger>() != nullptr) return inputs.self;
  const double* number = inputs.self.as<double>();
  const TracedText* text = inputs.self.as_text();
  const bool is_read = (number != nullptr && whole_part(*number, result)) ||
                       (text != nullptr && read_whole(*text, base, result));
  if (is_read) return result;
  if (inputs[0] != nullptr) return *inputs[0];
  return Value(std::int64_t{0});
}

Result<Value> as_float(const Inputs& inputs) {
  SHUNT_TRY(require_defined(inputs.self));
  std::int64_t room = 0;
  if (inputs.self.as<double>() != nullptr) return inputs.self;
  if (const BigInteger* big = inputs.self.as<BigInteger>()) return Value(big_as_double(*big));
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
  SHUNT_TRY(require_defined(value));
  return invalid("expected a number, not '{}'", type_name(value));
}

/// To `precision` decimal digits; halves of the exact value go to the even digit.
double rounded_decimal(double number, std::int64_t precision) {
  constexpr std::int64_t kMostDigits = 320;
  if (!std::isfinite(number) || precision > kMostDigits) return number;
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return std::isinf(scale) ? 0 : std::nearbyint(number / scale) * scale;
  }
  std::array<char, 700> room{};
  std::snprintf(room.data(), room.size(), "%.*f", static_cast<int>(precision), number);
  return std::strtod(room.data(), nullptr);
}

Result<Value> rounded(const Inputs& inputs) {
  SHUNT_ASSIGN(const double number, number_of(inputs.self));
  SHUNT_ASSIGN(const std::int64_t precision, inputs.integer(0, 0));
  SHUNT_ASSIGN(const TracedText* given, inputs.text(1));
  const std::string_view method = given == nullptr ? "common" : given->view();
  if (method == "common") {
    std::int64_t room = 0;
    const std::int64_t* integer = integer_of(inputs.self, room);
    if (integer != nullptr && precision >= 0) return Value(*integer);
    const double result = rounded_decimal(number, precision);
    if (integer == nullptr) return Value(result);
    Value whole;  // rounded up, it may have more than 64 bits
    whole_part(result, whole);
    return whole;
  }
  if (method != "ceil" && method != "floor") {
    return invalid("round knows \"common\", \"ceil\" and \"floor\"");
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = method == "ceil" ? std::ceil(number * scale) : std::floor(number * scale);
  return Value((scaled + 0.0) / scale);  // the integer 0 has no sign
}

Result<Value> magnitude(const Inputs& inputs) {
  std::int64_t room = 0;
  if (const std::int64_t* integer = integer_of(inputs.self, room)) {
    if (*integer == std::numeric_limits<std::int64_t>::min()) {
      return invalid("the result is no integer of 64 bits");
    }
    return Value(*integer < 0 ? -*integer : *integer);
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
  if (bytes < base) return Value::text(fmt::format("{:.0f} Bytes", std::trunc(bytes)), true);
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  std::size_t prefix = 0;
  while (bytes >= unit * base && prefix + 1 < kPrefixes.size()) {
    unit *= base;
    ++prefix;
  }
  const char letter = binary && prefix == 0 ? 'K' : kPrefixes[prefix];
  return Value::text(fmt::format("{:.1f} {}{}", bytes / unit, letter, binary ? "iB" : "B"), true);
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
