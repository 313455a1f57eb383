// The layout of interleaved rows. For some types the tests check it byte by byte, from the known
// structure of their blocks. Other requirements hold for all types.
#include "backends/cpu/interleaved.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <vector>

namespace shunt::cpu::interleaved_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::vector<DType> types() {
  std::vector<DType> found;
  for (const DTypeTrait& type : dtypes()) {
    if (!block_fields(type.dtype).fields.empty()) found.push_back(type.dtype);
  }
  return found;
}

/// Some rows of whole blocks.
std::vector<std::int64_t> lengths(DType type) {
  const std::int64_t elements = block_fields(type).elements;
  return {elements, 2 * elements, 5 * elements, 768};
}

/// Part of a block: its size in bytes, and the size of its words.
struct Part {
  std::size_t bytes = 0;
  std::size_t word = 0;
};

/// 16 rows of `blocks` blocks that are made of `parts`, in the order of the group: block by block,
/// of those part by part, of those word by word, of those row by row.
Bytes in_order(const Bytes& plain, std::size_t blocks, const std::vector<Part>& parts) {
  const std::size_t row_bytes = plain.size() / 16;
  const std::size_t block_bytes = row_bytes / blocks;
  Bytes group;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::size_t part_at = block * block_bytes;
    for (const Part& part : parts) {
      for (std::size_t at = part_at; at < part_at + part.bytes; at += part.word) {
        for (std::size_t row = 0; row < 16; ++row) {
          for (std::size_t i = 0; i < part.word; ++i) {
            group.push_back(plain[row * row_bytes + at + i]);
          }
        }
      }
      part_at += part.bytes;
    }
  }
  return group;
}

Bytes interleaved(DType type, std::int64_t k, const Bytes& plain) {
  Bytes group(plain.size());
  interleave_rows(type, k, plain.data(), group.data());
  return group;
}

TEST(Interleaved, RowsAreInterleavedWordByWord) {
  struct Known {
    DType type;
    std::int64_t elements;  // of a block
    std::size_t bytes;
    std::vector<Part> parts;
  };
  const Known kKnown[] = {
      {DType::kF16, 1, 2, {{2, 2}}},
      {DType::kBF16, 2, 4, {{4, 4}}},
      {DType::kF32, 1, 4, {{4, 4}}},
      {DType::kQ4_0, 32, 18, {{2, 2}, {16, 4}}},                       // scale, nibbles
      {DType::kMXFP4, 32, 17, {{1, 1}, {16, 4}}},                      // exponent, nibbles
      {DType::kQ6_K, 256, 210, {{128, 4}, {64, 4}, {16, 4}, {2, 2}}},  // low, high, scales, scale
      {DType::kQ4_K, 256, 144, {{2, 2}, {2, 2}, {12, 4}, {128, 4}}},   // scales, nibbles
  };
  for (const Known& known : kKnown) {
    for (const std::size_t blocks : {1U, 2U, 5U}) {
      const auto k = static_cast<std::int64_t>(blocks) * known.elements;
      const Bytes plain = random_bytes(16 * blocks * known.bytes, 7);
      EXPECT_EQ(interleaved(known.type, k, plain), in_order(plain, blocks, known.parts))
          << trait(known.type).name << ", " << blocks << " blocks";
    }
  }
}

TEST(Interleaved, FieldsCoverTheWholeBlockInOrder) {
  for (const DType type : types()) {
    const BlockFields block = block_fields(type);
    const DTypeTrait& known = trait(type);
    EXPECT_EQ(block.elements % known.block_elements, 0) << known.name;
    EXPECT_EQ(block.bytes,
              block.elements / known.block_elements * static_cast<std::int64_t>(known.block_bytes))
        << known.name;
    std::size_t at = 0;
    for (const BlockField& field : block.fields) {
      EXPECT_EQ(field.offset, at) << known.name;
      EXPECT_GT(field.bytes, 0) << known.name;
      EXPECT_TRUE(field.word == 1 || field.word == 2 || field.word == 4) << known.name;
      EXPECT_EQ(field.bytes % field.word, 0) << known.name;
      at += field.bytes;
    }
    EXPECT_EQ(at, static_cast<std::size_t>(block.bytes)) << known.name;
  }
}

TEST(Interleaved, SeparateRowsRoundTrips) {
  for (const DType type : types()) {
    for (const std::int64_t k : lengths(type)) {
      const std::int64_t row = interleaved_row_bytes(type, k);
      ASSERT_EQ(
          row, k / trait(type).block_elements * static_cast<std::int64_t>(trait(type).block_bytes));
      const Bytes plain = random_bytes(static_cast<std::size_t>(16 * row), 1);
      const Bytes group = interleaved(type, k, plain);
      Bytes back(plain.size());
      separate_rows(type, k, group.data(), back.data());
      EXPECT_EQ(back, plain) << trait(type).name << ", k " << k;
    }
  }
}

TEST(Interleaved, EveryByteIsAtTheComputedPosition) {
  for (const DType type : types()) {
    for (const std::int64_t k : lengths(type)) {
      const auto bytes = static_cast<std::size_t>(16 * interleaved_row_bytes(type, k));
      const Bytes plain = random_bytes(bytes, 2);
      const Bytes group = interleaved(type, k, plain);
      std::set<std::size_t> places;
      for (std::size_t at = 0; at < bytes; ++at) {
        const std::size_t place = interleaved_at(type, k, at);
        ASSERT_LT(place, bytes) << trait(type).name << ", k " << k << ", byte " << at;
        ASSERT_EQ(group[place], plain[at]) << trait(type).name << ", k " << k << ", byte " << at;
        places.insert(place);
      }
      EXPECT_EQ(places.size(), bytes) << trait(type).name << ": two bytes have one place";
    }
  }
}

TEST(Interleaved, SeparatesPiecesOfARow) {
  for (const DType type : types()) {
    const std::int64_t k = 768;
    const std::int64_t elements = block_fields(type).elements;
    const auto row_bytes = static_cast<std::size_t>(interleaved_row_bytes(type, k));
    const Bytes plain = random_bytes(16 * row_bytes, 3);
    const Bytes group = interleaved(type, k, plain);
    for (const std::size_t row : {0U, 1U, 9U, 15U}) {
      for (const std::int64_t first : {std::int64_t{0}, elements, k - elements, k}) {
        for (const std::int64_t count : {std::int64_t{0}, elements, 2 * elements, k}) {
          if (first + count > k) continue;
          const auto begin = static_cast<std::size_t>(interleaved_row_bytes(type, first));
          const auto bytes = static_cast<std::size_t>(interleaved_row_bytes(type, count));
          const std::byte* from = plain.data() + row * row_bytes + begin;
          // One byte more, which must stay.
          Bytes expected(from, from + bytes);
          expected.push_back(std::byte{0x5a});
          Bytes got(bytes + 1, std::byte{0x5a});
          separate_row(type, group.data(), static_cast<std::int64_t>(row), first, count,
                       got.data());
          EXPECT_EQ(got, expected)
              << trait(type).name << ", row " << row << ", " << count << " from " << first;
        }
      }
    }
  }
}

Tensor tensor(DType type, const Shape& shape) {
  return *make_tensor(type, shape);
}

TEST(Interleaved, AcceptsMatricesOfWholeBlocks) {
  for (const DType type : types()) {
    const std::int64_t k = 3 * block_fields(type).elements;
    const std::int64_t row_bytes = interleaved_row_bytes(type, k);
    for (const std::int64_t rows : {16, 32, 48, 160}) {
      const Tensor several = tensor(type, {k, rows, 3, 2});
      EXPECT_TRUE(can_interleave(several)) << trait(type).name;
      EXPECT_EQ(interleaved_bytes(several), static_cast<std::size_t>(byte_span(several)))
          << trait(type).name;
    }
    for (const std::int64_t rows : {1, 8, 15, 16, 17, 31, 32, 40}) {
      const Tensor one = tensor(type, {k, rows});
      EXPECT_TRUE(can_interleave(one)) << trait(type).name << ", " << rows;
      EXPECT_EQ(interleaved_bytes(one), static_cast<std::size_t>((rows <= 16   ? 16
                                                                  : rows <= 32 ? 32
                                                                               : 48) *
                                                                 row_bytes))
          << trait(type).name << ", " << rows;
    }
  }
}

TEST(Interleaved, RejectsOtherTensors) {
  for (const DType type : types()) {
    const std::int64_t k = 2 * block_fields(type).elements;
    EXPECT_FALSE(can_interleave(tensor(type, {k, 0}))) << trait(type).name;
    for (const std::int64_t rows : {1, 8, 15, 17, 31, 40}) {
      EXPECT_FALSE(can_interleave(tensor(type, {k, rows, 2}))) << "a group is of one matrix";
      EXPECT_FALSE(can_interleave(tensor(type, {k, rows, 1, 3}))) << "a group is of one matrix";
    }
    // The row stride of a single row must be right, too: it gives the length of rows.
    Tensor single = tensor(type, {k, 1});
    single.strides[1] = 0;
    EXPECT_FALSE(can_interleave(single)) << trait(type).name;
    EXPECT_FALSE(can_interleave(tensor(type, {0, 16}))) << trait(type).name;
    EXPECT_FALSE(can_interleave(tensor(type, {k, 16, 0}))) << trait(type).name;
    Tensor apart = tensor(type, {k, 16});
    apart.strides[1] += apart.strides[0];
    EXPECT_FALSE(can_interleave(apart)) << trait(type).name;
    Tensor sparse = tensor(type, {k, 16});
    for (std::int64_t& stride : sparse.strides) stride *= 2;
    EXPECT_FALSE(can_interleave(sparse)) << trait(type).name;
  }
  for (const std::int64_t k : {1, 3, 33}) {
    EXPECT_FALSE(can_interleave(tensor(DType::kBF16, {k, 16}))) << "two of BF16 are a word";
  }
  Tensor transposed = tensor(DType::kF32, {16, 16});
  std::swap(transposed.strides[0], transposed.strides[1]);
  EXPECT_FALSE(can_interleave(transposed));
  for (const DType type : {DType::kI32, DType::kI64, DType::kF64}) {
    EXPECT_TRUE(block_fields(type).fields.empty()) << trait(type).name;
    EXPECT_FALSE(can_interleave(tensor(type, {64, 16}))) << trait(type).name;
  }
}

TEST(Interleaved, RejectsTensorsWhoseByteSizeOverflows) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;
  EXPECT_TRUE(can_interleave(tensor(DType::kF32, {kMost / 4, 1})));
  EXPECT_FALSE(can_interleave(tensor(DType::kF32, {kMost / 4 + 1, 1})));
}

TEST(Interleaved, RejectsDynamicDims) {
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    Tensor some = tensor(DType::kF32, {64, 32, 2, 2});
    ASSERT_TRUE(can_interleave(some));
    some.shape[i] = Dim(DynamicDimId{1}, some.shape[i].max);
    EXPECT_FALSE(can_interleave(some)) << "dimension " << i;
  }
}

}  // namespace
}  // namespace shunt::cpu::interleaved_test
