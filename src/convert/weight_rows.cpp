#include "convert/weight_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/to_size.h"
#include "shunt/message.h"
#include "tensor/byte_order.h"

namespace shunt {

namespace {

constexpr std::int64_t kBlock = 32;        // elements of a block of MXFP4
constexpr std::size_t kBlockNumbers = 16;  // bytes of their numbers
constexpr std::size_t kBlockBytes = 1 + kBlockNumbers;

/// The number of bytes of `columns` elements in a row of the published tensor.
std::size_t bytes_of_columns(const WeightSource& source, std::int64_t columns) {
  if (source.type == StoredType::kMXFP4) return to_size(columns / kBlock) * kBlockBytes;
  return to_size(columns) * facts_of(source.type).bytes;
}

std::size_t bytes_of_row(const WeightSource& source) {
  const DTypeTrait& type = trait(source.info.tensor.dtype);
  return to_size(source.view.columns / type.block_elements) * type.block_bytes;
}

/// The matrix with a row of the weight, and the row in it.
struct Place {
  const SourceMatrix* matrix;
  std::int64_t row;     ///< published, of all in the tensor
  std::int64_t number;  ///< of the matrix in the tensor
};

Place place_of(const WeightSource& source, std::int64_t row) {
  const SourceView& view = source.view;
  const std::int64_t number = row / view.rows;
  const std::int64_t in_matrix = row % view.rows;
  const bool single = source.matrices.size() == 1;
  const std::int64_t there =
      view.row_order.empty() ? in_matrix : view.row_order[to_size(in_matrix)];
  const std::int64_t in_tensor = single ? number : 0;
  return {&source.matrices[single ? 0 : to_size(number)],
          in_tensor * (view.transposed ? 0 : view.published_rows) + there, in_tensor};
}

/// Blocks of GGUF have the scale first, and element i beside element i + 16; published ones have
/// neighbours in a byte.
void copy_mxfp4_row(const SourceMatrix& from, std::int64_t row, std::int64_t columns,
                    std::byte* to) {
  const std::size_t blocks = to_size(columns / kBlock);
  const std::byte* const numbers =
      from.tensor->bytes.data() + to_size(row) * blocks * kBlockNumbers;
  const std::byte* const scales = from.scale->bytes.data() + to_size(row) * blocks;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::array<std::byte, kBlock> elements{};
    for (std::size_t i = 0; i < kBlockNumbers; ++i) {
      const std::byte pair = numbers[block * kBlockNumbers + i];
      elements[2 * i] = pair & std::byte{15};
      elements[2 * i + 1] = pair >> 4;
    }
    *to++ = scales[block];
    for (std::size_t i = 0; i < kBlockNumbers; ++i)
      *to++ = elements[i] | (elements[i + kBlockNumbers] << 4);
  }
}

/// The number in a tensor of scales.
float scale_at(const StoredTensor& scales, std::int64_t index) {
  const std::byte* const at = scales.bytes.data() + to_size(index) * facts_of(scales.type).bytes;
  float scale = 0;
  if (scales.type == StoredType::kF32) return load_little<float>(at);
  if (scales.type == StoredType::kF8E8M0) return std::ldexp(1.0F, std::to_integer<int>(*at) - 127);
  std::array<std::byte, sizeof(std::uint16_t)> half{};  // F16 or BF16
  std::copy_n(at, half.size(), half.begin());
  const DType type = *facts_of(scales.type).dtype;
  convert_byte_order(type, std::endian::little, half);
  trait(type).decode(half.data(), &scale, 1);
  return scale;
}

}  // namespace

void WeightRows::gather_row(const WeightSource& source, std::int64_t row, std::byte* to) const {
  const SourceView& view = source.view;
  const Place place = place_of(source, row);
  if (source.type == StoredType::kMXFP4) {
    copy_mxfp4_row(*place.matrix, place.row, view.columns, to);
    return;
  }
  const std::size_t size = facts_of(source.type).bytes;
  const std::byte* const from =
      place.matrix->tensor->bytes.data() + to_size(place.row * view.published_columns) * size;
  if (view.column_order.empty()) {
    std::memcpy(to, from, to_size(view.columns) * size);
    return;
  }
  for (const std::int64_t column : view.column_order) {
    std::memcpy(to, from + to_size(column) * size, size);
    to += size;
  }
}

/// Columns of the published matrix become rows: it is read row by row.
void WeightRows::gather_columns(const WeightSource& source, std::int64_t first,
                                std::int64_t count) {
  const SourceView& view = source.view;
  const std::size_t size = facts_of(source.type).bytes;
  std::vector<std::size_t> starts;  // of each row, in the first published row of its matrix
  std::vector<const std::byte*> tensors;
  for (std::int64_t row = first; row < first + count; ++row) {
    const Place place = place_of(source, row);
    const std::int64_t before = place.number * view.published_rows * view.published_columns;
    starts.push_back(to_size(before + place.row) * size);
    tensors.push_back(place.matrix->tensor->bytes.data());
  }
  const std::size_t stride = to_size(view.published_columns) * size;
  const std::size_t row_bytes = to_size(view.columns) * size;
  for (std::size_t column = 0; column < to_size(view.columns); ++column) {
    for (std::size_t row = 0; row < starts.size(); ++row) {
      std::memcpy(gathered_.data() + row * row_bytes + column * size,
                  tensors[row] + starts[row] + column * stride, size);
    }
  }
}

void WeightRows::gather(const WeightSource& source, std::int64_t first, std::int64_t count) {
  const std::size_t row_bytes = bytes_of_columns(source, source.view.columns);
  gathered_.resize(to_size(count) * row_bytes);
  if (source.view.transposed) {
    gather_columns(source, first, count);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    gather_row(source, first + i, gathered_.data() + to_size(i) * row_bytes);
}

void WeightRows::decode_row(const WeightSource& source, std::int64_t row,
                            std::span<const std::byte> from) {
  const auto dtype = facts_of(source.type).dtype;
  if (dtype) {
    row_.assign(from.begin(), from.end());
    convert_byte_order(*dtype, std::endian::little, row_);
    trait(*dtype).decode(row_.data(), numbers_.data(), source.view.columns);
    return;
  }
  const auto decode = source.type == StoredType::kF8E4M3 ? decode_e4m3 : decode_e5m2;
  const Place place = place_of(source, row);
  const StoredTensor* const scales = place.matrix->scale;
  const SourceView& view = source.view;
  const std::int64_t in_matrix = place.row - place.number * view.published_rows;
  const auto blocks = [](std::int64_t all, std::int64_t size) {
    return size == 0 ? 1 : (all + size - 1) / size;
  };
  const std::int64_t row_blocks = blocks(view.published_rows, source.scales.rows);
  const std::int64_t column_blocks = blocks(view.published_columns, source.scales.columns);
  const std::int64_t row_block = source.scales.rows == 0 ? 0 : in_matrix / source.scales.rows;
  const std::int64_t start = (place.number * row_blocks + row_block) * column_blocks;
  for (std::int64_t i = 0; i < view.columns; ++i) {
    const std::int64_t column = view.column_order.empty() ? i : view.column_order[to_size(i)];
    const std::int64_t block = source.scales.columns == 0 ? 0 : column / source.scales.columns;
    const float scale = scales == nullptr ? 1 : scale_at(*scales, start + block);
    numbers_[to_size(i)] = decode(std::to_integer<std::uint8_t>(from[to_size(i)])) * scale;
  }
}

Status WeightRows::convert(const WeightSource& source, std::int64_t first, std::int64_t count) {
  const std::size_t from_bytes = bytes_of_columns(source, source.view.columns);
  const std::size_t to_bytes = bytes_of_row(source);
  const DType dtype = source.info.tensor.dtype;
  converted_.resize(to_size(count) * to_bytes);
  numbers_.resize(to_size(source.view.columns));
  for (std::int64_t i = 0; i < count; ++i) {
    decode_row(source, first + i,
               std::span(gathered_).subspan(to_size(i) * from_bytes, from_bytes));
    for (float& number : numbers_) {
      if (source.element == Element::kAddOne) number += 1;
      if (source.element == Element::kNegativeExp) number = -std::exp(number);
    }
    const auto to = std::span(converted_).subspan(to_size(i) * to_bytes, to_bytes);
    SHUNT_TRY(encode_row(dtype, numbers_, {}, to));
    convert_byte_order(dtype, std::endian::little, to);
  }
  return ok();
}

Result<std::span<const std::byte>> WeightRows::read(const WeightSource& source, std::int64_t first,
                                                    std::int64_t count) {
  // A row of a vector is several rows of one column.
  const std::int64_t share = source.info.tensor.size(0) / source.view.columns;
  first *= share;
  count *= share;
  const std::size_t row_bytes = bytes_of_row(source);
  if (source.matrices.empty()) {
    converted_.resize(source.numbers.size() * sizeof(float));
    std::memcpy(converted_.data(), source.numbers.data(), converted_.size());
    convert_byte_order(DType::kF32, std::endian::little, converted_);
    return std::span<const std::byte>(converted_)
        .subspan(to_size(first) * row_bytes, to_size(count) * row_bytes);
  }
  const auto same = facts_of(source.type).dtype;
  const bool as_stored = same == source.info.tensor.dtype && source.element == Element::kSame;
  const bool mapped = as_stored && source.view.is_plain() && source.matrices.size() == 1 &&
                      source.view.rows == source.view.published_rows &&
                      source.type != StoredType::kMXFP4;
  if (mapped) {
    return source.matrices[0].tensor->bytes.subspan(to_size(first) * row_bytes,
                                                    to_size(count) * row_bytes);
  }
  gather(source, first, count);
  if (as_stored) return std::span<const std::byte>(gathered_);
  SHUNT_TRY(convert(source, first, count));
  return std::span<const std::byte>(converted_);
}

}  // namespace shunt
