#include "backends/cpu/interleaved.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

namespace shunt::cpu {

namespace {

constexpr std::size_t kRows = kGroupRows;

template <std::size_t N>
using Fields = std::array<BlockField, N>;

// What a block is made of: see tensor/formats.
constexpr Fields<1> kF32 = {{{0, 4, 4}}};
constexpr Fields<1> kF16 = {{{0, 2, 2}}};
constexpr Fields<1> kTwoBF16 = {{{0, 4, 4}}};
constexpr Fields<2> kQ4_0 = {{{0, 2, 2}, {2, 16, 4}}};
constexpr Fields<3> kQ4_1 = {{{0, 2, 2}, {2, 2, 2}, {4, 16, 4}}};
constexpr Fields<3> kQ5_0 = {{{0, 2, 2}, {2, 4, 4}, {6, 16, 4}}};
constexpr Fields<4> kQ5_1 = {{{0, 2, 2}, {2, 2, 2}, {4, 4, 4}, {8, 16, 4}}};
constexpr Fields<2> kQ8_0 = {{{0, 2, 2}, {2, 32, 4}}};
constexpr Fields<2> kMxfp4 = {{{0, 1, 1}, {1, 16, 4}}};
constexpr Fields<4> kQ2_K = {{{0, 16, 4}, {16, 64, 4}, {80, 2, 2}, {82, 2, 2}}};
constexpr Fields<4> kQ3_K = {{{0, 32, 4}, {32, 64, 4}, {96, 12, 4}, {108, 2, 2}}};
constexpr Fields<4> kQ4_K = {{{0, 2, 2}, {2, 2, 2}, {4, 12, 4}, {16, 128, 4}}};
constexpr Fields<5> kQ5_K = {{{0, 2, 2}, {2, 2, 2}, {4, 12, 4}, {16, 32, 4}, {48, 128, 4}}};
constexpr Fields<4> kQ6_K = {{{0, 128, 4}, {128, 64, 4}, {192, 16, 4}, {208, 2, 2}}};
constexpr Fields<4> kIq4Xs = {{{0, 2, 2}, {2, 2, 2}, {4, 4, 4}, {8, 128, 4}}};

template <std::size_t N>
constexpr BlockFields of(std::int64_t elements, const Fields<N>& fields) {
  return {elements, fields.back().offset + fields.back().bytes, fields};
}

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
  switch (type) {
    case DType::kF32:
      return of(1, kF32);
    case DType::kF16:
      return of(1, kF16);
    case DType::kBF16:
      return of(2, kTwoBF16);
    case DType::kQ4_0:
    case DType::kIQ4_NL:
      return of(32, kQ4_0);
    case DType::kQ4_1:
      return of(32, kQ4_1);
    case DType::kQ5_0:
      return of(32, kQ5_0);
    case DType::kQ5_1:
      return of(32, kQ5_1);
    case DType::kQ8_0:
      return of(32, kQ8_0);
    case DType::kMXFP4:
      return of(32, kMxfp4);
    case DType::kQ2_K:
      return of(256, kQ2_K);
    case DType::kQ3_K:
      return of(256, kQ3_K);
    case DType::kQ4_K:
      return of(256, kQ4_K);
    case DType::kQ5_K:
      return of(256, kQ5_K);
    case DType::kQ6_K:
      return of(256, kQ6_K);
    case DType::kIQ4_XS:
      return of(256, kIq4Xs);
    default:
      return {};
  }
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
