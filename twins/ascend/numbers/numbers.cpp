#include "ascend/numbers/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "common/reals.h"

namespace ascend_twin {
namespace {

struct Row {
  aclDataType type;
  const char* name;
  unsigned bits;
  bool is_float;
  std::int64_t least, most;  ///< of integers
  int rank;                  ///< of promotion: the wider is greater
};
constexpr Row kRows[] = {
    {ACL_FLOAT, "F32", 32, true, 0, 0, 12},
    {ACL_FLOAT16, "F16", 16, true, 0, 0, 11},
    {ACL_BF16, "BF16", 16, true, 0, 0, 11},
    {ACL_DOUBLE, "F64", 64, true, 0, 0, 13},
    {ACL_INT8, "INT8", 8, false, -128, 127, 2},
    {ACL_UINT8, "UINT8", 8, false, 0, 255, 1},
    {ACL_INT16, "INT16", 16, false, -32768, 32767, 3},
    {ACL_UINT16, "UINT16", 16, false, 0, 65535, -1},
    {ACL_INT32, "INT32", 32, false, INT32_MIN, INT32_MAX, 4},
    {ACL_UINT32, "UINT32", 32, false, 0, UINT32_MAX, -1},
    {ACL_INT64, "INT64", 64, false, INT64_MIN, INT64_MAX, 5},
    {ACL_UINT64, "UINT64", 64, false, 0, INT64_MAX, -1},
    {ACL_BOOL, "BOOL", 8, false, 0, 1, 0},
    {ACL_INT4, "INT4", 4, false, -8, 7, -1},
};

const Row* row_of(aclDataType type) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows),
                                         [&](const Row& row) { return row.type == type; });
  return found == std::end(kRows) ? nullptr : found;
}

template <class Value>
Value load(const std::byte* base, std::uint64_t index) {
  Value value;
  std::memcpy(&value, base + index * sizeof value, sizeof value);
  return value;
}
template <class Value>
void store(std::byte* base, std::uint64_t index, Value value) {
  std::memcpy(base + index * sizeof value, &value, sizeof value);
}

/// The top `kMantissa` bits of a mantissa below an exponent of 8 or 5 bits, to nearest even.
template <unsigned kExponent, unsigned kMantissa>
std::uint16_t small_float(double value) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr auto kInfinity = static_cast<std::uint16_t>(((1U << kExponent) - 1) << kMantissa);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  if (std::isnan(value))
    return static_cast<std::uint16_t>(sign | kInfinity | 1U << (kMantissa - 1));
  const double size = std::fabs(value);
  if (size == 0) return sign;
  if (std::isinf(size)) return static_cast<std::uint16_t>(sign | kInfinity);
  const int exponent = std::max(std::ilogb(size), 1 - kBias);
  // In units of the last place: exact in a double, so that one rounding is made. A subnormal
  // number of the greatest mantissa plus one is the least normal one, and so on up to infinity.
  const double units =
      twin::round_half_even(std::ldexp(size, static_cast<int>(kMantissa) - exponent));
  const auto whole = static_cast<std::uint64_t>(units);
  const std::uint64_t bits =
      (static_cast<std::uint64_t>(exponent + kBias - 1) << kMantissa) + whole;
  return static_cast<std::uint16_t>(sign | std::min<std::uint64_t>(bits, kInfinity));
}

template <unsigned kExponent, unsigned kMantissa>
double value_of_small(std::uint16_t bits) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  const int exponent = bits >> kMantissa & ((1 << kExponent) - 1);
  const int mantissa = bits & ((1 << kMantissa) - 1);
  double size;
  if (exponent == (1 << kExponent) - 1) {
    size = mantissa == 0 ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  } else {
    const int least = exponent == 0 ? 0 : 1 << kMantissa;
    size =
        std::ldexp(least + mantissa, std::max(exponent, 1) - kBias - static_cast<int>(kMantissa));
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

double most_of(aclDataType type) {
  switch (type) {
    case ACL_FLOAT16:
      return 65504;
    case ACL_BF16:
      return 0x1.FEp127;
    case ACL_FLOAT:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

double saturated(aclDataType type, double value) {
  if (std::isnan(value)) return 0;
  return std::clamp(value, -most_of(type), most_of(type));
}

std::int64_t truncated(const Row& row, double value) {
  if (std::isnan(value)) return 0;
  // 2^63 is the first double beyond INT64.
  if (value >= 0x1p63) return row.most;
  if (value < -0x1p63) return row.least;
  return std::clamp(static_cast<std::int64_t>(value), row.least, row.most);
}

}  // namespace

std::uint16_t half_of(double value) {
  return small_float<5, 10>(value);
}
double value_of_half(std::uint16_t bits) {
  return value_of_small<5, 10>(bits);
}
std::uint16_t bfloat_of(double value) {
  return small_float<8, 7>(value);
}
double value_of_bfloat(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

unsigned bits_of(aclDataType type) {
  const Row* const row = row_of(type);
  return row == nullptr ? 0 : row->bits;
}
bool is_float(aclDataType type) {
  const Row* const row = row_of(type);
  return row != nullptr && row->is_float;
}
bool is_integer(aclDataType type) {
  const Row* const row = row_of(type);
  return row != nullptr && !row->is_float && type != ACL_BOOL;
}
const char* name_of(aclDataType type) {
  const Row* const row = row_of(type);
  return row == nullptr ? "an unknown type" : row->name;
}

aclDataType promote(aclDataType a, aclDataType b) {
  if (a == b) return a;
  const Row* const first = row_of(a);
  const Row* const second = row_of(b);
  if (first == nullptr || second == nullptr || first->rank < 0 || second->rank < 0)
    return ACL_DT_UNDEFINED;
  if (first->is_float && second->is_float && first->rank == second->rank) return ACL_FLOAT;
  if ((a == ACL_INT8 && b == ACL_UINT8) || (a == ACL_UINT8 && b == ACL_INT8)) return ACL_INT16;
  return first->rank > second->rank ? a : b;
}

double decode(aclDataType type, const std::byte* base, std::uint64_t index) {
  switch (type) {
    case ACL_FLOAT:
      return static_cast<double>(load<float>(base, index));
    case ACL_FLOAT16:
      return value_of_half(load<std::uint16_t>(base, index));
    case ACL_BF16:
      return value_of_bfloat(load<std::uint16_t>(base, index));
    case ACL_DOUBLE:
      return load<double>(base, index);
    default:
      return static_cast<double>(decode_integer(type, base, index));
  }
}

std::int64_t decode_integer(aclDataType type, const std::byte* base, std::uint64_t index) {
  switch (type) {
    case ACL_INT8:
      return load<std::int8_t>(base, index);
    case ACL_UINT8:
      return load<std::uint8_t>(base, index);
    case ACL_BOOL:
      return load<std::uint8_t>(base, index) != 0 ? 1 : 0;
    case ACL_INT16:
      return load<std::int16_t>(base, index);
    case ACL_UINT16:
      return load<std::uint16_t>(base, index);
    case ACL_INT32:
      return load<std::int32_t>(base, index);
    case ACL_UINT32:
      return load<std::uint32_t>(base, index);
    case ACL_INT64:
    case ACL_UINT64:
      return load<std::int64_t>(base, index);
    case ACL_INT4: {
      const auto byte = load<std::uint8_t>(base, index / 2);
      const unsigned nibble = index % 2 == 0 ? byte & 15U : byte >> 4;
      return static_cast<std::int64_t>(nibble ^ 8U) - 8;
    }
    default:
      return truncated(*row_of(ACL_INT64), decode(type, base, index));
  }
}

void encode_integer(aclDataType type, std::byte* base, std::uint64_t index, std::int64_t value) {
  switch (type) {
    case ACL_BOOL:
      store<std::uint8_t>(base, index, value != 0 ? 1 : 0);
      return;
    case ACL_INT8:
    case ACL_UINT8:
      store(base, index, static_cast<std::uint8_t>(value));
      return;
    case ACL_INT16:
    case ACL_UINT16:
      store(base, index, static_cast<std::uint16_t>(value));
      return;
    case ACL_INT32:
    case ACL_UINT32:
      store(base, index, static_cast<std::uint32_t>(value));
      return;
    case ACL_INT64:
    case ACL_UINT64:
      store(base, index, value);
      return;
    case ACL_INT4: {
      const auto old = load<std::uint8_t>(base, index / 2);
      const auto nibble = static_cast<unsigned>(value) & 15U;
      store(base, index / 2,
            static_cast<std::uint8_t>(index % 2 == 0 ? (old & 0xF0U) | nibble
                                                     : (old & 0x0FU) | nibble << 4));
      return;
    }
    default:
      encode(type, base, index, static_cast<double>(value), false);
  }
}

void encode(aclDataType type, std::byte* base, std::uint64_t index, double value, bool saturates) {
  const double kept = saturates && is_float(type) ? saturated(type, value) : value;
  switch (type) {
    case ACL_FLOAT:
      store(base, index, static_cast<float>(kept));
      return;
    case ACL_FLOAT16:
      store(base, index, half_of(kept));
      return;
    case ACL_BF16:
      store(base, index, bfloat_of(kept));
      return;
    case ACL_DOUBLE:
      store(base, index, kept);
      return;
    case ACL_BOOL:
      encode_integer(type, base, index, value != 0 ? 1 : 0);
      return;
    default:
      if (const Row* const row = row_of(type)) {
        encode_integer(type, base, index, truncated(*row, value));
      }
  }
}

double rounded_to(aclDataType type, double value, bool saturates) {
  std::byte cell[8] = {};
  encode(type, cell, 0, value, saturates);
  return decode(type, cell, 0);
}

double rounded_to_bits(double value, unsigned bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int places = static_cast<int>(bits) - std::ilogb(value);
  return std::ldexp(twin::round_half_even(std::ldexp(value, places)), -places);
}

}  // namespace ascend_twin
