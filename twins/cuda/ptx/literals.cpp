// Numbers of PTX: decimal, 0x, 0b and octal integers with U, 0f and 0d bits, decimal floats.
#include <algorithm>
#include <bit>
#include <charconv>

#include "cuda/ptx/lexer.h"

namespace cuda_twin::ptx {
namespace {

Literal failed(std::string_view number, std::string_view why, std::string& problem) {
  problem = "number " + std::string(number.substr(0, 40)) + " " + std::string(why);
  return {};
}

Literal bits(std::string_view number, std::size_t digits, Literal::Kind kind,
             std::string& problem) {
  const std::string_view hex = number.substr(2);
  Literal literal{kind, 0, false};
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), literal.bits, 16);
  if (hex.size() != digits || error != std::errc{} || end != hex.data() + hex.size()) {
    return failed(number, "needs " + std::to_string(digits) + " hexadecimal digits", problem);
  }
  return literal;
}

Literal decimal_float(std::string_view number, std::string& problem) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (end != number.data() + number.size() || error == std::errc::invalid_argument) {
    return failed(number, "is malformed", problem);
  }
  if (error == std::errc::result_out_of_range) {
    return failed(number, "is outside the range of double precision", problem);
  }
  return {Literal::Kind::kDouble, std::bit_cast<std::uint64_t>(value), false};
}

struct Digits {
  std::string_view text;
  int base;
};

Digits digits_of(std::string_view number) {
  const auto prefixed = [&](char lower, char upper) {
    return number.size() > 2 && number[0] == '0' && (number[1] == lower || number[1] == upper);
  };
  if (prefixed('x', 'X')) return {number.substr(2), 16};
  if (prefixed('b', 'B')) return {number.substr(2), 2};
  if (number.size() > 1 && number[0] == '0') return {number.substr(1), 8};
  return {number, 10};
}

Literal integer(std::string_view number, std::string& problem) {
  Literal literal;
  std::string_view text = number;
  if (text.ends_with('U') || text.ends_with('u')) {
    literal.is_unsigned = true;
    text.remove_suffix(1);
  }
  const Digits digits = digits_of(text);
  const char* const first =
      digits.text.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
  const char* const last = first + digits.text.size();
  const auto [end, error] = std::from_chars(first, last, literal.bits, digits.base);
  if (error == std::errc::result_out_of_range) return failed(number, "exceeds 64 bits", problem);
  if (error != std::errc{} || end != last) return failed(number, "is malformed", problem);
  literal.is_unsigned |= literal.bits >> 63 != 0;
  return literal;
}

}  // namespace

Literal literal_of(std::string_view number, std::string& problem) {
  const bool zero = number.size() > 1 && number[0] == '0';
  if (zero && (number[1] == 'f' || number[1] == 'F')) {
    return bits(number, 8, Literal::Kind::kSingle, problem);
  }
  if (zero && (number[1] == 'd' || number[1] == 'D')) {
    return bits(number, 16, Literal::Kind::kDouble, problem);
  }
  const bool hexadecimal = zero && (number[1] == 'x' || number[1] == 'X');
  const bool floating = number.find_first_of(".eE") != std::string_view::npos && !hexadecimal;
  return floating ? decimal_float(number, problem) : integer(number, problem);
}

}  // namespace cuda_twin::ptx
