// Columns of a matrix in a file, brought into memory by groups of rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/load/weights_in_memory.h"
#include "support/big_endian.h"
#include "support/gguf_bytes.h"
#include "support/shared.h"

namespace shunt::test::engine_column_parts_test {
namespace {

using ::testing::ElementsAre;

/// A file of one F32 tensor, whose elements are numbered from 0.
class ColumnParts : public ::testing::Test {
 protected:
  void write(const Shape& shape) {
    const Tensor tensor = *make_tensor(DType::kF32, shape);
    std::vector<float> numbers(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    const auto raw = std::as_bytes(std::span(numbers));
    std::vector<std::byte> bytes(raw.begin(), raw.end());
    convert_byte_order(DType::kF32, std::endian::little, bytes);
    gguf::Writer writer;
    EXPECT_TRUE(writer.add_tensor("w", tensor));
    EXPECT_TRUE(writer.write(path_, [&](std::size_t) {
      return Result<std::span<const std::byte>>(std::span<const std::byte>(bytes));
    }));
  }

  /// The columns [first, first + count) of the tensor.
  static gguf::TensorInfo columns(const gguf::File& file, std::int64_t first, std::int64_t count) {
    gguf::TensorInfo part = file.tensors()[0];
    part.tensor.shape[0] = count;
    part.offset += static_cast<std::uint64_t>(first) * sizeof(float);
    part.bytes = static_cast<std::uint64_t>(element_count(part.tensor.shape)) * sizeof(float);
    return part;
  }

  /// The part in memory as a type, decoded; `told`: the reported progress.
  static std::vector<float> brought(const gguf::File& file, const gguf::TensorInfo& part,
                                    DType type, std::vector<std::uint64_t>& told,
                                    TranscodeError& error) {
    const Tensor tensor = *make_tensor(type, part.tensor.shape);
    const auto blocks = WeightBlocks::allocate(host_memory(), {{&part, tensor}});
    EXPECT_TRUE(blocks);
    const auto errors = blocks->fill(file, [&](std::uint64_t bytes) { told.push_back(bytes); });
    EXPECT_TRUE(errors);
    error = errors->at(0);
    const std::int64_t count = element_count(tensor.shape);
    std::vector<float> values(static_cast<std::size_t>(count));
    const Address at = blocks->address(0);
    trait(type).decode(at.buffer->host_data() + at.offset, values.data(), count);
    return values;
  }

  /// The number of an element of the part, rows being counted through all higher dimensions.
  static void expect_columns(const std::vector<float>& values, std::int64_t first,
                             std::int64_t count, std::int64_t width) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t number = at / count * width + first + at % count;
      ASSERT_EQ(values[i], static_cast<float>(number)) << i;
    }
  }

  TempFolder folder_;
  std::string path_ = folder_.file("columns.gguf");
};

/// 2048 rows of 4 KiB are 8 MiB of the file: no more is gathered at once.
TEST_F(ColumnParts, LargeMatrixIsReadInGroupsOfRows) {
  write({1024, 2148});
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file);
  for (const std::int64_t first : {0, 256, 768}) {
    std::vector<std::uint64_t> told;
    TranscodeError error;
    const gguf::TensorInfo part = columns(*file, first, 256);
    expect_columns(brought(*file, part, DType::kF32, told, error), first, 256, 1024);
    EXPECT_THAT(told, ElementsAre(2048 * 1024, 100 * 1024));
  }
}

TEST_F(ColumnParts, SeveralMatricesAreReadInOrder) {
  write({96, 3, 5, 2});
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file);
  std::vector<std::uint64_t> told;
  TranscodeError error;
  const gguf::TensorInfo part = columns(*file, 32, 40);
  const auto values = brought(*file, part, DType::kF32, told, error);
  EXPECT_EQ(values.size(), 40U * 30);
  expect_columns(values, 32, 40, 96);
}

/// Numbers up to 2048 are exact as F16; those beyond 65504 are lost, and counted in every group.
TEST_F(ColumnParts, TranscodingErrorIsSummedOverAllGroups) {
  write({1024, 2148});
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file);
  std::vector<std::uint64_t> told;
  TranscodeError error;
  const gguf::TensorInfo part = columns(*file, 256, 256);
  const auto values = brought(*file, part, DType::kF16, told, error);
  std::uint64_t bytes = 0;
  for (const std::uint64_t each : told) bytes += each;
  EXPECT_EQ(bytes, part.bytes);
  for (std::size_t i = 0; i < 512; ++i) {
    ASSERT_EQ(values[i], static_cast<float>(i / 256 * 1024 + 256 + i % 256)) << i;
  }
  // Rows up to 63 end below 65504, the last of them at 63 * 1024 + 511.
  EXPECT_EQ(error.lost, (2148U - 64) * 256);
}

TEST_F(ColumnParts, ByteOrderOfTheFileDoesNotMatter) {
  write({1024, 2148});
  const std::string bytes = read_file(path_);
  const std::string big = folder_.write("big.gguf", to_big_endian(std::as_bytes(std::span(bytes))));
  for (const std::string& path : {path_, big}) {
    const auto file = gguf::File::open(path);
    ASSERT_TRUE(file);
    std::vector<std::uint64_t> told;
    TranscodeError error;
    const gguf::TensorInfo part = columns(*file, 512, 64);
    expect_columns(brought(*file, part, DType::kF32, told, error), 512, 64, 1024);
  }
}

}  // namespace
}  // namespace shunt::test::engine_column_parts_test
