// Importance matrices in files: files of other programs are read, files that make no sense are
// refused.
#include "shunt/importance_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/gguf_bytes.h"

namespace shunt::test::model_importance_matrix_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Bytes text_value(std::string_view text) {
  return Bytes().string(text);
}

Bytes floats(std::initializer_list<float> values) {
  Bytes bytes;
  for (float value : values) bytes.f32(value);
  return bytes;
}

/// "a": three columns of two matrices; one tensor after the other, 32 bytes each.
GgufParts sample() {
  GgufParts parts;
  parts.entries = {
      gguf_entry("general.type", kGgufString, text_value("imatrix")),
      gguf_entry("imatrix.datasets", kGgufArray, gguf_array(kGgufString, 1, text_value("t.txt"))),
      gguf_entry("imatrix.chunk_count", kGgufU32, Bytes().u32(7)),
      gguf_entry("imatrix.chunk_size", kGgufU32, Bytes().u32(512)),
  };
  parts.tensors = {gguf_tensor("a.in_sum2", {3, 2}, 0, 0), gguf_tensor("a.counts", {1, 2}, 0, 32)};
  parts.data = floats({1, 2, 3, 4, 5, 6}).pad(32).append(floats({8, 9})).pad(32);
  return parts;
}

class ImportanceFile : public testing::Test {
 protected:
  Result<ImportanceMatrix> read(const GgufParts& parts) const {
    return read_importance(folder_.write("im.gguf", gguf_file(parts).span()));
  }
  void expect_bad(const GgufParts& parts, const std::string& message) const {
    const auto matrix = read(parts);
    ASSERT_FALSE(matrix) << message;
    EXPECT_EQ(matrix.error().code(), ErrorCode::kBadFile);
    EXPECT_THAT(matrix.error().message(), HasSubstr("im.gguf"));
    EXPECT_THAT(matrix.error().message(), HasSubstr(message));
  }
  TempFolder folder_;
};

TEST_F(ImportanceFile, IsRead) {
  const auto matrix = read(sample());
  ASSERT_TRUE(matrix) << matrix.error().message();
  EXPECT_THAT(matrix->datasets, ElementsAre("t.txt"));
  EXPECT_EQ(matrix->chunk_count, 7U);
  EXPECT_EQ(matrix->chunk_size, 512U);
  ASSERT_EQ(matrix->tensors.size(), 1U);
  const ColumnSums& sums = matrix->tensors.at("a");
  EXPECT_EQ(sums.columns, 3);
  EXPECT_THAT(sums.squares, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(sums.counts, ElementsAre(8, 9));
}

TEST_F(ImportanceFile, IsReadWithoutOptionalKeys) {
  GgufParts parts = sample();
  parts.entries.resize(1);
  const auto matrix = read(parts);
  ASSERT_TRUE(matrix) << matrix.error().message();
  EXPECT_EQ(matrix->chunk_count, 0U);
  EXPECT_EQ(matrix->tensors.size(), 1U);
}

TEST_F(ImportanceFile, RoundTrips) {
  const auto first = read(sample());
  ASSERT_TRUE(first);
  ASSERT_TRUE(write_importance(folder_.file("again.gguf"), *first));
  const auto second = read_importance(folder_.file("again.gguf"));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(second->datasets, first->datasets);
  EXPECT_EQ(second->chunk_count, 7U);
  EXPECT_EQ(second->chunk_size, 512U);
  EXPECT_EQ(second->tensors.at("a").squares, first->tensors.at("a").squares);
  EXPECT_EQ(second->tensors.at("a").counts, first->tensors.at("a").counts);
}

TEST_F(ImportanceFile, RejectsInvalidContentOnRead) {
  GgufParts parts = sample();
  parts.entries[0] = gguf_entry("general.type", kGgufString, text_value("model"));
  expect_bad(parts, "general.type is 'model'");
  parts.entries.erase(parts.entries.begin());
  expect_bad(parts, "general.type is ''");

  parts = sample();
  parts.tensors[1] = gguf_tensor("b.counts", {1, 2}, 0, 32);
  expect_bad(parts, "a.counts is missing");
  parts.tensors[1] = gguf_tensor("a.counts", {1, 3}, 0, 32);
  expect_bad(parts, "a.counts has 3 counts; a.in_sum2 is F32 [3, 2]");
  parts.tensors[1] = gguf_tensor("a.counts", {1, 2}, 1, 32);
  expect_bad(parts, "a.counts is F16");
  parts.tensors[0] = gguf_tensor("a.sums", {3, 2}, 0, 0);
  parts.tensors[1] = gguf_tensor("a.counts", {1, 2}, 0, 32);
  expect_bad(parts, "no tensor whose name ends in .in_sum2");

  for (const float value :
       {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    parts = sample();
    parts.data = floats({1, 2, 3, 4, value, 6}).pad(32).append(floats({8, 9})).pad(32);
    expect_bad(parts, "finite and not negative");
  }
  const auto missing = read_importance(folder_.file("none.gguf"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
}

/// A matrix that would be refused when it is read is not written.
TEST_F(ImportanceFile, RejectsInvalidValuesOnWrite) {
  const double most = std::numeric_limits<float>::max();
  const auto write = [&](double square, double count) {
    ImportanceMatrix matrix;
    matrix.tensors["a"] = {.columns = 2, .squares = {1, square}, .counts = {count}};
    return write_importance(folder_.file("im.gguf"), matrix);
  };
  for (const double bad : {-1e-9, most * 1.001, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    const Status squares = write(bad, 1);
    ASSERT_FALSE(squares) << bad;
    EXPECT_EQ(squares.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(squares.error().message(), HasSubstr("im.gguf: tensor a.in_sum2: "));
    const Status counts = write(1, bad);
    ASSERT_FALSE(counts) << bad;
    EXPECT_THAT(counts.error().message(), HasSubstr("im.gguf: tensor a.counts: "));
    EXPECT_THAT(folder_.list(), testing::IsEmpty());
  }
  EXPECT_TRUE(write(most, 0));
  EXPECT_TRUE(read_importance(folder_.file("im.gguf")));
}

TEST_F(ImportanceFile, NeedsAName) {
  const Status written = write_importance("", *read(sample()));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(written.error().message(), HasSubstr("the name of the file to write is empty"));
}

TEST(ImportanceMatrix, WeightsHaveMeanOneAndAreNeverZero) {
  const ColumnSums sums{.columns = 4, .squares = {0, 2, 4, 2, 0, 0, 0, 0}, .counts = {1, 0}};
  EXPECT_THAT(ImportanceMatrix::weights(sums, 0), ElementsAre(1e-4F, 1, 2, 1));
  EXPECT_TRUE(ImportanceMatrix::weights(sums, 1).empty());
}

}  // namespace
}  // namespace shunt::test::model_importance_matrix_test
