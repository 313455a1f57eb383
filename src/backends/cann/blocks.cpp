#include "backends/cann/blocks.h"

#include <algorithm>
#include <array>
#include <limits>

namespace shunt::cann {

namespace {

using Dims = View::Dims;

/// Both formats: a scale of F16, then the numbers of 32 elements.
constexpr std::int64_t kElements = 32;
constexpr std::int64_t kScaleBytes = 2;
/// Limits to which encoders clamp numbers (formats/rows.h).
constexpr double kLargestNumber = 1e9;
constexpr double kLargestF16 = 65504;
constexpr double kLargestF32 = static_cast<double>(std::numeric_limits<float>::max());

/// Dimension 0 as [in a block, blocks].
Dims block_sizes(const StoredTensor& tensor, std::int64_t inner) {
  Dims sizes{inner, tensor.sizes[0] / kElements};
  sizes.insert(sizes.end(), tensor.sizes.begin() + 1, tensor.sizes.end());
  return sizes;
}

/// A part of each block: `inner` elements of a type from a byte on.
View part_of(const StoredTensor& tensor, DataType type, std::int64_t inner, std::int64_t at) {
  const std::int64_t width = bits_of(type) / 8;
  Dims strides{1};
  for (const std::int64_t stride : tensor.strides) strides.push_back(stride / width);
  return {type, block_sizes(tensor, inner), std::move(strides),
          tensor.data == nullptr ? nullptr : tensor.data + at};
}

View scales_of(const StoredTensor& tensor) {
  return part_of(tensor, DataType::kFloat16, 1, 0);
}

/// A view of strides as contiguous numbers of another type.
View read(Calls& calls, const View& from, DataType to) {
  View made = calls.temporary(to, from.sizes());
  calls.copy(made, from);
  return made;
}

Dims with_size(Dims sizes, std::size_t dim, std::int64_t size) {
  sizes[dim] = size;
  return sizes;
}

/// A result like `like`.
template <class Call>
View made_like(Calls& calls, const View& like, Call call) {
  View made = calls.temporary(like.type(), like.sizes());
  call(made);
  return made;
}

// A format: how the numbers of blocks are read, as [32, blocks, ...], and how they are made of F32
// numbers x of the same sizes.
struct Format32 {
  DType type;
  View (*read)(Calls& calls, const StoredTensor& from, DataType to);
  void (*write)(Calls& calls, const StoredTensor& to, const View& x);
};

/// 1 / d, finite also for 0: 0 times it is 0.
View finite_reciprocal(Calls& calls, const View& d) {
  const View inverse = made_like(calls, d, [&](const View& to) { calls(kReciprocal, d, to); });
  return made_like(calls, d, [&](const View& to) {
    calls(kClamp, inverse, Scalar(-kLargestF32), Scalar(kLargestF32), to);
  });
}

void write_scales(Calls& calls, const StoredTensor& to, const View& d) {
  const View held = made_like(calls, d, [&](const View& made) {
    calls(kClamp, d, Scalar(-kLargestF16), Scalar(kLargestF16), made);
  });
  calls.copy(scales_of(to), held);
}

/// The greatest of each block: [1, blocks, ...].
View greatest(Calls& calls, const View& x) {
  View made = calls.temporary(x.type(), with_size(x.sizes(), 0, 1));
  calls(kAmax, x, std::vector{x.vendor_dim(0)}, true, made);
  return made;
}

// Q8_0: a signed byte each.

View read_q8_0(Calls& calls, const StoredTensor& from, DataType to) {
  return read(calls, part_of(from, DataType::kInt8, kElements, kScaleBytes), to);
}

/// To nearest, halves away from zero.
View rounded(Calls& calls, const View& x) {
  const View whole = made_like(calls, x, [&](const View& to) { calls(kTrunc, x, to); });
  const View rest = made_like(calls, x, [&](const View& to) { calls(kSub, x, whole, 1, to); });
  const View twice = made_like(calls, x, [&](const View& to) { calls(kMuls, rest, 2.0F, to); });
  const View more = made_like(calls, x, [&](const View& to) { calls(kTrunc, twice, to); });
  return made_like(calls, x, [&](const View& to) { calls(kAdd, whole, more, 1, to); });
}

void write_q8_0(Calls& calls, const StoredTensor& to, const View& x) {
  const View magnitude = made_like(calls, x, [&](const View& made) { calls(kAbs, x, made); });
  const View largest = greatest(calls, magnitude);
  const View d =
      made_like(calls, largest, [&](const View& made) { calls(kDivs, largest, 127.0F, made); });
  const View inverse = finite_reciprocal(calls, d);
  const View scaled = made_like(calls, x, [&](const View& made) { calls(kMul, x, inverse, made); });
  const View whole = rounded(calls, scaled);
  const View q = made_like(calls, x, [&](const View& made) {
    calls(kClamp, whole, Scalar(-127.0), Scalar(127.0), made);
  });
  calls.copy(part_of(to, DataType::kInt8, kElements, kScaleBytes), q);
  write_scales(calls, to, d);
}

// Q4_0: byte j has element j in its low half and element j + 16 in its high half.
constexpr std::int64_t kHalf = kElements / 2;

View read_q4_0(Calls& calls, const StoredTensor& from, DataType to) {
  const View bytes = read(calls, part_of(from, DataType::kUint8, kHalf, kScaleBytes), to);
  const View shifted =
      made_like(calls, bytes, [&](const View& made) { calls(kMuls, bytes, 1.0F / 16, made); });
  const View high =
      made_like(calls, bytes, [&](const View& made) { calls(kFloor, shifted, made); });
  const View low = made_like(
      calls, bytes, [&](const View& made) { calls(kSub, bytes, high, Scalar(16.0F), made); });
  const View q = calls.temporary(to, block_sizes(from, kElements));
  calls(kCat, std::vector{low, high}, q.vendor_dim(0), q);
  return made_like(calls, q, [&](const View& made) { calls(kAdds, q, -8.0F, 1.0F, made); });
}

/// The place of the first element of each block that is 1, counted from the end: 0 if none is.
View first_place(Calls& calls, const View& is) {
  const View places = calls.constant("blocks places", kElements, [](std::span<float> to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(to.size() - i);
  });
  const View at = made_like(calls, is, [&](const View& made) { calls(kMul, is, places, made); });
  return greatest(calls, at);
}

/// The first element of largest magnitude of each block, with its sign.
View largest_of(Calls& calls, const View& x) {
  const View magnitude = made_like(calls, x, [&](const View& made) { calls(kAbs, x, made); });
  const View most = greatest(calls, magnitude);
  const View least = made_like(calls, most, [&](const View& made) { calls(kNeg, most, made); });
  const View is_most =
      made_like(calls, x, [&](const View& made) { calls(kEqTensor, x, most, made); });
  const View is_least =
      made_like(calls, x, [&](const View& made) { calls(kEqTensor, x, least, made); });
  const View first = first_place(calls, is_most);
  const View other = first_place(calls, is_least);
  const View ahead =
      made_like(calls, first, [&](const View& made) { calls(kSub, first, other, 1, made); });
  const View sign = made_like(calls, first, [&](const View& made) { calls(kSign, ahead, made); });
  return made_like(calls, most, [&](const View& made) { calls(kMul, most, sign, made); });
}

void write_q4_0(Calls& calls, const StoredTensor& to, const View& x) {
  const View largest = largest_of(calls, x);
  const View d =
      made_like(calls, largest, [&](const View& made) { calls(kDivs, largest, -8.0F, made); });
  const View inverse = finite_reciprocal(calls, d);
  const View scaled = made_like(calls, x, [&](const View& made) { calls(kMul, x, inverse, made); });
  const View above =
      made_like(calls, x, [&](const View& made) { calls(kAdds, scaled, 8.5F, 1.0F, made); });
  const View held = made_like(
      calls, x, [&](const View& made) { calls(kClamp, above, Scalar(0.0), Scalar(15.0), made); });
  const View q = made_like(calls, x, [&](const View& made) { calls(kFloor, held, made); });
  const View bytes = calls.temporary(x.type(), block_sizes(to, kHalf));
  calls(kAdd, q.sliced(0, 0, kHalf), q.sliced(0, kHalf, kHalf), Scalar(16.0F), bytes);
  calls.copy(part_of(to, DataType::kUint8, kHalf, kScaleBytes), bytes);
  write_scales(calls, to, d);
}

constexpr std::array kFormats = {Format32{DType::kQ8_0, read_q8_0, write_q8_0},
                                 Format32{DType::kQ4_0, read_q4_0, write_q4_0}};

const Format32& format_of(DType type) {
  return *std::ranges::find(kFormats, type, &Format32::type);
}

/// Not-a-number as 0, numbers beyond the range of every format as its end.
View finite(Calls& calls, const View& from) {
  const View x = without_nan(calls, from);
  return made_like(calls, x, [&](const View& made) {
    calls(kClamp, x, Scalar(-kLargestNumber), Scalar(kLargestNumber), made);
  });
}

StoredTensor stored_tensor(const Tensor& tensor, const Sizes& sizes, DevicePointer data) {
  return {tensor.dtype, Dims(sizes.begin(), sizes.end()),
          Dims(tensor.strides.begin(), tensor.strides.end()), data};
}

/// BF16 as F32, on a chip that has no BF16: the upper halves. `from`: as INT16.
View widened(Calls& calls, const View& from) {
  Dims sizes = from.sizes();
  sizes.insert(sizes.begin(), 2);
  const View halves = calls.temporary(DataType::kInt16, std::move(sizes));
  calls.fill(halves, 0);
  calls.copy(halves.sliced(0, 1, 1).without(0), from);
  return {DataType::kFloat, from.sizes(), halves.data()};
}

/// The type of integers in which blocks are moved.
DataType integers_of(DType type) {
  constexpr std::array kTypes = {DataType::kInt32, DataType::kInt16, DataType::kUint8};
  return *std::ranges::find_if(kTypes, [&](DataType integers) {
    return trait(type).block_bytes % static_cast<std::size_t>(bits_of(integers) / 8) == 0;
  });
}

View view_as(const StoredTensor& tensor, DataType type) {
  const std::int64_t width = bits_of(type) / 8;
  Dims sizes = tensor.sizes;
  sizes[0] = moved_count(tensor.type, sizes[0]);
  Dims strides = tensor.strides;
  for (std::int64_t& stride : strides) stride /= width;
  if (!has_data_type(tensor.type)) strides[0] = 1;
  return {type, std::move(sizes), std::move(strides), tensor.data};
}

}  // namespace

bool has_blocks(DType type) {
  return std::ranges::find(kFormats, type, &Format32::type) != kFormats.end();
}

bool has_elements(DType type) {
  return has_data_type(type) || has_blocks(type);
}

StoredTensor stored_source(const Operands& node, std::size_t i) {
  return stored_tensor(node.tensor(i), node.sizes(i), node.data(i));
}

StoredTensor stored_result(const Operands& node) {
  return stored_tensor(node.result_tensor(), node.result_sizes(), node.result_data());
}

View dequantize(Calls& calls, const StoredTensor& from, DataType to) {
  const View q = format_of(from.type).read(calls, from, to);
  const View d = read(calls, scales_of(from), to);
  const View y = made_like(calls, q, [&](const View& made) { calls(kMul, q, d, made); });
  return y.merged(0);
}

View without_nan(Calls& calls, const View& from) {
  const View x = calls.temporary(from.type(), from.sizes());
  calls.copy(x, from);
  const View is_number = calls.temporary(DataType::kBool, from.sizes());
  calls(kEqTensor, x, x, is_number);
  const View is_none = calls.temporary(DataType::kBool, from.sizes());
  calls(kLogicalNot, is_number, is_none);
  calls(kInplaceMaskedFillScalar, x, is_none, Scalar(0.0F));
  return x;
}

View elements_of(Calls& calls, const StoredTensor& from, DataType to) {
  if (has_blocks(from.type)) return dequantize(calls, from, to);
  if (from.type == DType::kBF16 && !calls.chip().bf16)
    return calls.cast(widened(calls, moved_view(from, calls.chip())), to);
  return calls.cast(plain_view(from), to);
}

void quantize(Calls& calls, const StoredTensor& to, const View& from) {
  format_of(to.type).write(calls, to, finite(calls, from).split(0, kElements));
}

View plain_view(const StoredTensor& tensor) {
  return view_as(tensor, data_type(tensor.type));
}

View moved_view(const StoredTensor& tensor, const Chip& chip) {
  if (has_data_type(tensor.type) && (tensor.type != DType::kBF16 || chip.bf16))
    return plain_view(tensor);
  return view_as(tensor, integers_of(tensor.type));
}

std::int64_t moved_count(DType type, std::int64_t elements) {
  if (has_data_type(type)) return elements;
  const DTypeTrait& traits = trait(type);
  const std::int64_t in_block =
      static_cast<std::int64_t>(traits.block_bytes) / (bits_of(integers_of(type)) / 8);
  return elements / traits.block_elements * in_block;
}

StoredTensor stored_in(DType type, const View& moved) {
  const DTypeTrait& traits = trait(type);
  const std::int64_t width = bits_of(moved.type()) / 8;
  StoredTensor made = {type, moved.sizes(), moved.strides(), moved.data()};
  for (std::int64_t& stride : made.strides) stride *= width;
  if (has_data_type(type)) return made;
  made.strides[0] = static_cast<std::int64_t>(traits.block_bytes);
  made.sizes[0] = made.sizes[0] * width / made.strides[0] * traits.block_elements;
  return made;
}

View gather_rows(Calls& calls, const View& table, const View& indices) {
  const Dims result{table.size(0), indices.size(0), table.size(2), table.size(3)};
  const std::int64_t slices = table.size(2) * table.size(3);
  const std::int64_t rows = table.size(1);
  View all = calls.contiguous(indices).reshaped({indices.size(0), slices});
  const View whole = table.can_merge(2) && table.merged(2).can_merge(1)
                         ? table.merged(2).merged(1)
                         : calls.contiguous(table).merged(2).merged(1);
  if (slices > 1) {
    const View starts = calls.temporary(DataType::kInt32, {slices});
    calls(kArange, std::int64_t{0}, slices * rows, rows, starts);
    const View moved = calls.temporary(DataType::kInt32, all.sizes());
    calls(kAdd, all, starts.reshaped({1, slices}), 1, moved);
    all = moved;
  }
  const View picked = calls.temporary(table.type(), {table.size(0), all.elements()});
  calls(kGatherV2, whole, whole.vendor_dim(1), all.reshaped({all.elements()}), picked);
  return picked.reshaped(result);
}

}  // namespace shunt::cann
