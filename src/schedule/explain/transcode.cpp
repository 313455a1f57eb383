#include "schedule/explain/transcode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/to_size.h"

namespace shunt {

namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 16;  // elements at a time

TranscodeError compare(std::span<const float> before, std::span<const float> after,
                       const DTypeTrait& type) {
  // Block types encode too large values as well as they can, and the result is then finite.
  const float largest = type.quantized ? type.largest : std::numeric_limits<float>::infinity();
  TranscodeError error;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool finite = std::isfinite(before[i]);
    if (finite != std::isfinite(after[i]) || std::fabs(before[i]) > largest) {
      ++error.lost;
    } else if (finite) {
      const double value = before[i];
      const double off = value - static_cast<double>(after[i]);
      error.squares += value * value;
      error.squared_error += off * off;
    }
  }
  return error;
}

}  // namespace

Result<TranscodeError> transcode(std::span<const std::byte> bytes, DType from, std::endian order,
                                 Address address, DType to,
                                 const std::function<void(std::uint64_t)>& done,
                                 const WeightWriter& write) {
  const DTypeTrait& source = trait(from);
  const DTypeTrait& target = trait(to);
  const auto bytes_of = [](const DTypeTrait& type, std::int64_t elements) {
    return to_size(elements / type.block_elements) * type.block_bytes;
  };
  const std::int64_t unit = std::lcm(source.block_elements, target.block_elements);
  const std::int64_t step = std::max(kPiece / unit, std::int64_t{1}) * unit;
  const std::int64_t count =
      static_cast<std::int64_t>(bytes.size() / source.block_bytes) * source.block_elements;
  std::vector<std::byte> piece(bytes_of(source, step));
  std::vector<std::byte> encoded(bytes_of(target, step));
  std::vector<float> before(to_size(step));
  std::vector<float> after(to_size(step));
  TranscodeError error;
  for (std::int64_t first = 0; first < count; first += step) {
    const std::int64_t n = std::min(step, count - first);
    const auto size = to_size(n);
    const auto now = bytes.subspan(bytes_of(source, first), bytes_of(source, n));
    std::ranges::copy(now, piece.begin());
    convert_byte_order(from, order, std::span(piece).first(now.size()));
    source.decode(piece.data(), before.data(), n);
    target.encode(before.data(), encoded.data(), n);
    target.decode(encoded.data(), after.data(), n);
    error.add(compare(std::span(before).first(size), std::span(after).first(size), target));
    const Address at = {address.buffer, address.offset + bytes_of(target, first)};
    const auto written = std::span(encoded).first(bytes_of(target, n));
    SHUNT_TRY(write ? write(at, written) : at.buffer->write(at.offset, written));
    done(now.size());
  }
  return error;
}

}  // namespace shunt
