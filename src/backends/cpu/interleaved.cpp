#include "backends/cpu/interleaved.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

namespace shunt::cpu {

namespace {

constexpr std::size_t kRows = kGroupRows;

/// How the blocks of a type are interleaved, see BlockFields. Fields that have no bytes are none.
struct TypeFields {
  DType type = DType::kF32;
  std::int64_t elements = 0;
  std::array<BlockField, 5> fields = {};
};

// The fields of a block: see tensor/formats.
constexpr TypeFields kTable[] = {
    {DType::kF32, 1, {{{0, 4, 4}}}},
    {DType::kF16, 1, {{{0, 2, 2}}}},
    {DType::kBF16, 2, {{{0, 4, 4}}}},
    {DType::kQ4_0, 32, {{{0, 2, 2}, {2, 16, 4}}}},
    {DType::kQ4_1, 32, {{{0, 2, 2}, {2, 2, 2}, {4, 16, 4}}}},
    {DType::kQ5_0, 32, {{{0, 2, 2}, {2, 4, 4}, {6, 16, 4}}}},
    {DType::kQ5_1, 32, {{{0, 2, 2}, {2, 2, 2}, {4, 4, 4}, {8, 16, 4}}}},
    {DType::kQ8_0, 32, {{{0, 2, 2}, {2, 32, 4}}}},
    {DType::kMXFP4, 32, {{{0, 1, 1}, {1, 16, 4}}}},
    {DType::kIQ4_NL, 32, {{{0, 2, 2}, {2, 16, 4}}}},
    {DType::kQ2_K, 256, {{{0, 16, 4}, {16, 64, 4}, {80, 2, 2}, {82, 2, 2}}}},
    {DType::kQ3_K, 256, {{{0, 32, 4}, {32, 64, 4}, {96, 12, 4}, {108, 2, 2}}}},
    {DType::kQ4_K, 256, {{{0, 2, 2}, {2, 2, 2}, {4, 12, 4}, {16, 128, 4}}}},
    {DType::kQ5_K, 256, {{{0, 2, 2}, {2, 2, 2}, {4, 12, 4}, {16, 32, 4}, {48, 128, 4}}}},
    {DType::kQ6_K, 256, {{{0, 128, 4}, {128, 64, 4}, {192, 16, 4}, {208, 2, 2}}}},
    {DType::kIQ4_XS, 256, {{{0, 2, 2}, {2, 2, 2}, {4, 4, 4}, {8, 128, 4}}}},
};

/// The same by element type; empty entries for types that are not there.
constexpr auto kByType = [] {
  std::array<BlockFields, 64> by_type{};
  for (const TypeFields& of : kTable) {
    std::size_t count = 0;
    while (count < of.fields.size() && of.fields[count].bytes > 0) ++count;
    const std::span fields = std::span(of.fields).first(count);
    by_type[static_cast<std::size_t>(of.type)] = {
        of.elements, fields.back().offset + fields.back().bytes, fields};
  }
  return by_type;
}();

/// Words of one size of all blocks.
template <std::size_t Word, class Copy>
void each_word(const BlockField& field, std::size_t blocks, std::size_t block_bytes,
               const Copy& copy) {
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t plain = b * block_bytes + field.offset;
    const std::size_t together = kRows * plain;
    for (std::size_t at = 0; at < field.bytes; at += Word) {
      copy(plain + at, kRows * at + together);
    }
  }
}

/// Calls copy.operator()<Word>(where in a row, where in the group) for each word of a row.
template <class Copy>
void each_word(DType type, std::size_t k, const Copy& copy) {
  const BlockFields block = block_fields(type);
  const std::size_t blocks = k / static_cast<std::size_t>(block.elements);
  const auto bytes = static_cast<std::size_t>(block.bytes);
  for (const BlockField& field : block.fields) {
    const auto of_size = [&]<std::size_t Word>(std::integral_constant<std::size_t, Word>) {
      each_word<Word>(field, blocks, bytes, [&](std::size_t plain, std::size_t together) {
        copy.template operator()<Word>(plain, together);
      });
    };
    switch (field.word) {
      case 1:
        of_size(std::integral_constant<std::size_t, 1>());
        break;
      case 2:
        of_size(std::integral_constant<std::size_t, 2>());
        break;
      default:
        of_size(std::integral_constant<std::size_t, 4>());
    }
  }
}

}  // namespace

BlockFields block_fields(DType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kByType.size() ? kByType[index] : BlockFields();
}

bool can_interleave(const Tensor& tensor) {
  const BlockFields block = block_fields(tensor.dtype);
  const auto fixed = [](const Dim& dim) { return dim.is_fixed(); };
  if (block.fields.empty() || !std::ranges::all_of(tensor.shape, fixed)) return false;
  const std::int64_t k = tensor.size(0);
  const bool one_slice = tensor.size(2) == 1 && tensor.size(3) == 1;
  const std::int64_t bytes = byte_span(tensor);
  // So few that those of rows that fill up a group can be added.
  const bool counts = bytes > 0 && bytes <= std::numeric_limits<std::int64_t>::max() / kGroupRows;
  return counts && k % block.elements == 0 && (one_slice || tensor.size(1) % kGroupRows == 0) &&
         tensor.stride(1) == interleaved_row_bytes(tensor.dtype, k) && is_contiguous(tensor);
}

std::size_t interleaved_bytes(const Tensor& tensor) {
  const std::int64_t missing = (kGroupRows - tensor.size(1) % kGroupRows) % kGroupRows;
  return static_cast<std::size_t>(byte_span(tensor)) +
         static_cast<std::size_t>(missing * interleaved_row_bytes(tensor.dtype, tensor.size(0)));
}

std::int64_t interleaved_row_bytes(DType type, std::int64_t k) {
  const BlockFields block = block_fields(type);
  return k / block.elements * block.bytes;
}

void interleave_rows(DType type, std::int64_t k, const std::byte* plain, std::byte* group) {
  const auto row = static_cast<std::size_t>(interleaved_row_bytes(type, k));
  each_word(type, static_cast<std::size_t>(k),
            [&]<std::size_t Word>(std::size_t at, std::size_t together) {
              for (std::size_t r = 0; r < kRows; ++r) {
                std::memcpy(group + together + r * Word, plain + r * row + at, Word);
              }
            });
}

void separate_rows(DType type, std::int64_t k, const std::byte* group, std::byte* plain) {
  const auto row = static_cast<std::size_t>(interleaved_row_bytes(type, k));
  each_word(type, static_cast<std::size_t>(k),
            [&]<std::size_t Word>(std::size_t at, std::size_t together) {
              for (std::size_t r = 0; r < kRows; ++r) {
                std::memcpy(plain + r * row + at, group + together + r * Word, Word);
              }
            });
}

std::size_t interleaved_at(DType type, std::int64_t k, std::size_t at) {
  const BlockFields block = block_fields(type);
  const auto row_bytes = static_cast<std::size_t>(interleaved_row_bytes(type, k));
  const auto block_bytes = static_cast<std::size_t>(block.bytes);
  const std::size_t row = at / row_bytes;
  const std::size_t first = at % row_bytes / block_bytes * block_bytes;
  const std::size_t in_block = at % row_bytes % block_bytes;
  const auto field = std::ranges::find_if(block.fields, [&](const BlockField& candidate) {
    return in_block < std::size_t{candidate.offset} + candidate.bytes;
  });
  const std::size_t in_field = in_block - field->offset;
  const std::size_t word = in_field / field->word;
  return kRows * (first + field->offset + word * field->word) + row * field->word +
         in_field % field->word;
}

void separate_row(DType type, const std::byte* group, std::int64_t row, std::int64_t first,
                  std::int64_t count, std::byte* plain) {
  const auto r = static_cast<std::size_t>(row);
  const std::byte* from = group + kGroupRows * interleaved_row_bytes(type, first);
  each_word(type, static_cast<std::size_t>(count),
            [&]<std::size_t Word>(std::size_t at, std::size_t together) {
              std::memcpy(plain + at, from + together + r * Word, Word);
            });
}

}  // namespace shunt::cpu
