#include "backends/cann/conversions.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace shunt::cann {

namespace {

/// Integers and F64, which are converted to each other without a detour over F32.
bool is_wide(DType type) {
  return trait(type).integer || type == DType::kF64;
}

/// The ends of a type of integers. Where a float type does not hold the upper one, it is clamped to
/// the number below, and `missing` is added to the integer where it was greater.
struct IntegerRange {
  double least;
  double most;
  double missing = 0;
};
struct RangeRow {
  DataType type;
  IntegerRange in_f32;
  IntegerRange in_f64;
};
constexpr std::array kRanges = {
    RangeRow{DataType::kInt8, {-128, 127}, {-128, 127}},
    RangeRow{DataType::kInt16, {-32768, 32767}, {-32768, 32767}},
    RangeRow{DataType::kInt32, {-0x1p31, 0x1p31 - 0x1p7, 0x1p7 - 1}, {-0x1p31, 0x1p31 - 1}},
    RangeRow{DataType::kInt64,
             {-0x1p63, 0x1p63 - 0x1p39, 0x1p39 - 1},
             {-0x1p63, 0x1p63 - 0x1p10, 0x1p10 - 1}}};

const RangeRow& ranges_of(DataType type) {
  return *std::ranges::find(kRanges, type, &RangeRow::type);
}

/// Whole numbers up to 2^63 as INT64. Chips convert no more than 32 bits exactly: in three parts.
View to_int64(Calls& calls, const View& from) {
  constexpr double kPart = 0x1p21;
  const DataType type = from.type();
  const auto number = [&](double value) { return Scalar(type, value); };
  const auto made = [&] { return calls.temporary(type, from.sizes()); };
  const auto high_part = [&](const View& x, double unit) {
    const View scaled = made();
    calls(kMuls, x, number(1 / unit), scaled);
    const View whole = made();
    calls(kTrunc, scaled, whole);
    return whole;
  };
  const View high = high_part(from, kPart * kPart);
  const View rest = made();
  calls(kSub, from, high, number(kPart * kPart), rest);
  const View middle = high_part(rest, kPart);
  const View low = made();
  calls(kSub, rest, middle, number(kPart), low);
  const View lower = calls.temporary(DataType::kInt64, from.sizes());
  calls(kAdd, calls.cast(low, DataType::kInt64), calls.cast(middle, DataType::kInt64),
        Scalar(std::int64_t{1} << 21), lower);
  const View sum = calls.temporary(DataType::kInt64, from.sizes());
  calls(kAdd, lower, calls.cast(high, DataType::kInt64), Scalar(std::int64_t{1} << 42), sum);
  return sum;
}

/// Integers as others, saturated.
void narrow(Calls& calls, const View& to, const View& from) {
  if (bits_of(to.type()) >= bits_of(from.type())) return calls.copy(to, from);
  const IntegerRange& range = ranges_of(to.type()).in_f64;
  const View held = calls.temporary(from.type(), from.sizes());
  calls(kClamp, from, Scalar(static_cast<std::int64_t>(range.least)),
        Scalar(static_cast<std::int64_t>(range.most)), held);
  calls.copy(to, held);
}

/// The bytes of a number in a plain type.
std::array<std::int32_t, 2> bits_of_number(DType type, float value) {
  std::array<std::byte, 8> bytes = {};
  trait(type).encode(&value, bytes.data(), 1);
  std::array<std::int32_t, 2> words = {};
  std::memcpy(words.data(), bytes.data(), sizeof words);
  return words;
}

}  // namespace

void round_to(Calls& calls, const View& to, const View& from) {
  const DataType type = from.type();
  const RangeRow& row = ranges_of(to.type());
  const IntegerRange& range = type == DataType::kFloat ? row.in_f32 : row.in_f64;
  const View number = without_nan(calls, from);
  const View whole = calls.temporary(type, from.sizes());
  calls(kRound, number, whole);
  const View held = calls.temporary(type, from.sizes());
  calls(kClamp, whole, Scalar(type, range.least), Scalar(type, range.most), held);
  const View result =
      to.type() == DataType::kInt64 ? to_int64(calls, held) : calls.cast(held, to.type());
  if (range.missing == 0) return calls.copy(to, result);
  const View is_above = calls.temporary(DataType::kBool, from.sizes());
  calls(kGtScalar, whole, Scalar(type, range.most), is_above);
  const View sum = calls.temporary(to.type(), from.sizes());
  calls(kAdd, result, calls.cast(is_above, to.type()),
        Scalar(static_cast<std::int64_t>(range.missing)), sum);
  calls.copy(to, sum);
}

Support can_convert(DType from, DType to, const Chip& chip) {
  if (from == to) return Support::yes();
  if (to == DType::kBF16 && !chip.bf16)
    return Support::no(Refusal::kType, fmt::format("a {} does not round to BF16", chip.name));
  const auto refuse = [](std::string_view verb, DType type) {
    return Support::no(Refusal::kType,
                       fmt::format("no operators of CANN {} {}", verb, to_string(type)));
  };
  if (!has_elements(from)) return refuse("decode", from);
  return has_elements(to) ? Support::yes() : refuse("encode", to);
}

void convert(Calls& calls, const StoredTensor& to, const StoredTensor& from) {
  if (from.type == to.type)
    return calls.copy(moved_view(to, calls.chip()), moved_view(from, calls.chip()));
  if (is_wide(from.type) && is_wide(to.type)) {
    if (from.type == DType::kF64) return round_to(calls, plain_view(to), plain_view(from));
    if (to.type == DType::kF64) return calls.copy(plain_view(to), plain_view(from));
    return narrow(calls, plain_view(to), plain_view(from));
  }
  const View x = elements_of(calls, from, DataType::kFloat);
  if (has_blocks(to.type)) return quantize(calls, to, x);
  if (trait(to.type).integer) return round_to(calls, plain_view(to), x);
  calls.copy(plain_view(to), x);
}

void fill_exactly(Calls& calls, const StoredTensor& to, float value) {
  const std::array words = bits_of_number(to.type, value);
  const auto fill = [&](DataType type, std::int64_t number) {
    calls.fill(plain_view(to).as(type), number);
  };
  switch (trait(to.type).block_bytes) {
    case 1:
      return fill(DataType::kInt8, static_cast<std::int8_t>(words[0]));
    case 2:
      return fill(DataType::kInt16, static_cast<std::int16_t>(words[0]));
    case 4:
      return fill(DataType::kInt32, words[0]);
    default:
      break;
  }
  View::Dims sizes = to.sizes;
  sizes.insert(sizes.begin(), 2);
  View::Dims strides{1};
  for (const std::int64_t stride : to.strides)
    strides.push_back(stride / static_cast<std::int64_t>(sizeof(std::int32_t)));
  const View halves(DataType::kInt32, std::move(sizes), std::move(strides), to.data);
  for (std::size_t i = 0; i < words.size(); ++i)
    calls.fill(halves.sliced(0, static_cast<std::int64_t>(i), 1), std::int64_t{words[i]});
}

}  // namespace shunt::cann
