#include "backends/cann/weight_parts.h"

#include <algorithm>

namespace shunt::cann {

WeightParts weight_parts(const Operands& node, std::size_t source) {
  const Tensor& tensor = node.tensor(source);
  const WeightLayout layout = layout_of(tensor);
  const Sizes sizes = node.sizes(source);
  auto* const data = node.data(source);
  return {{layout.code, {sizes[0], sizes[1], sizes[2]}, data},
          {DataType::kFloat16,
           {sizes[0] / kScaledElements, sizes[1], sizes[2]},
           data == nullptr ? nullptr : data + layout.scales_at}};
}

WeightParts WeightParts::rows() const {
  return {codes.merged(1).with_dim(1), scales.merged(1).with_dim(1)};
}

WeightParts WeightParts::matrices(std::int64_t first, std::int64_t count) const {
  return {codes.sliced(2, first, count), scales.sliced(2, first, count)};
}

namespace {

View pick_part(Calls& calls, const View& from, const View& indices) {
  const View picked = calls.temporary(from.type(), {from.size(0), from.size(1), indices.size(0)});
  calls(kIndexSelect, from, from.vendor_dim(2), indices, picked);
  return picked;
}

/// Numbers of 4 bits as bytes of two, along dimension 0; the vendor moves no single ones.
View pairs_of(const View& codes) {
  return {DataType::kUint8, {codes.size(0) / 2, codes.size(1), codes.size(2)}, codes.data()};
}

}  // namespace

WeightParts pick_matrices(Calls& calls, const WeightParts& weight, const View& indices) {
  const bool in_bytes = weight.codes.type() == DataType::kInt4;
  const View codes = pick_part(calls, in_bytes ? pairs_of(weight.codes) : weight.codes, indices);
  View::Dims sizes = codes.sizes();
  sizes[0] = weight.codes.size(0);
  return {{weight.codes.type(), std::move(sizes), codes.data()},
          pick_part(calls, weight.scales, indices)};
}

namespace {

/// Numbers that are decoded at once: each takes bytes of temporaries.
constexpr std::int64_t kUnpackedAtOnce = std::int64_t{1} << 24;

/// Numbers of 4 bits.
View read_int4(Calls& calls, const View& codes, DataType to) {
  const View bytes = pairs_of(codes);
  const auto made = [&](auto call) {
    View result = calls.temporary(to, bytes.sizes());
    call(result);
    return result;
  };
  // Halves of a byte from 0 to 15: those from 8 on are negative.
  const View whole = calls.cast(bytes, to);
  const View shifted = made([&](const View& each) { calls(kMuls, whole, 1.0F / 16, each); });
  const View high = made([&](const View& each) { calls(kFloor, shifted, each); });
  const View low = made([&](const View& each) { calls(kSub, whole, high, Scalar(16.0F), each); });
  const View numbers = calls.temporary(to, {2, bytes.size(0), bytes.size(1), bytes.size(2)});
  calls.copy(numbers.sliced(0, 0, 1).without(0), low);
  calls.copy(numbers.sliced(0, 1, 1).without(0), high);
  // n - 16 * floor(n / 8)
  const View eighths = calls.temporary(to, numbers.sizes());
  calls(kMuls, numbers, 1.0F / 8, eighths);
  const View above = calls.temporary(to, numbers.sizes());
  calls(kFloor, eighths, above);
  calls(kSub, numbers, above, Scalar(16.0F), eighths);
  return eighths.reshaped(codes.sizes());
}

}  // namespace

View dequantize(Calls& calls, const WeightParts& weight, DataType to) {
  View result = calls.temporary(to, weight.codes.sizes());
  const std::int64_t matrices = result.size(2);
  const std::int64_t most = std::clamp<std::int64_t>(
      kUnpackedAtOnce / (result.size(0) * result.size(1)), 1, std::max<std::int64_t>(matrices, 1));
  for (std::int64_t first = 0; first < matrices; first += most) {
    const Calls::Scope scope(calls);
    const std::int64_t count = std::min(most, matrices - first);
    const WeightParts part = weight.matrices(first, count);
    const View numbers = part.codes.type() == DataType::kInt4 ? read_int4(calls, part.codes, to)
                                                              : calls.cast(part.codes, to);
    const View scales = calls.cast(part.scales, to);
    calls(kMul, numbers.split(0, kScaledElements), scales.with_dim(0),
          result.sliced(2, first, count).split(0, kScaledElements));
  }
  return result;
}

}  // namespace shunt::cann
