// Matrices cut into pieces, and read back from them.
#include "backend_support/matrix_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "shunt/message.h"

namespace shunt::test::backend_support_matrix_grid_test {
namespace {

using testing::ElementsAre;

TEST(MatrixGrid, LastPiecesHaveTheRemainder) {
  const MatrixGrid grid{10, 7, 4, 5};
  EXPECT_EQ(grid.count_k(), 3);
  EXPECT_EQ(grid.count_n(), 2);
  EXPECT_FALSE(grid.whole());
  EXPECT_EQ(grid.size_k(0), 4);
  EXPECT_EQ(grid.size_k(2), 2);
  EXPECT_EQ(grid.size_n(1), 2);
  std::vector<std::size_t> numbers;
  grid.each([&](std::int64_t i, std::int64_t j) { numbers.push_back(grid.index(i, j)); });
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(grid.index(2, 1), 5U);
}

TEST(MatrixGrid, IsWholeIfOnePieceCoversTheMatrix) {
  EXPECT_TRUE((MatrixGrid{10, 7, 10, 7}.whole()));
  EXPECT_TRUE((MatrixGrid{10, 7, 64, 64}.whole()));
  EXPECT_FALSE((MatrixGrid{10, 7, 9, 7}.whole()));
  EXPECT_FALSE((MatrixGrid{10, 7, 10, 6}.whole()));
}

/// Element e of row r of the matrix is 100 r + e.
struct ReadBack {
  MatrixGrid grid{10, 7, 4, 5};
  std::int64_t most = 0;  // that were read at once
  std::map<std::int64_t, std::vector<float>> rows;
  std::int64_t fails_at = -1;  // piece of k

  Status read(std::int64_t first, std::int64_t count, std::int64_t at_once) {
    return read_transposed(
        grid, first, count, at_once,
        [&](std::int64_t i, std::int64_t j, std::int64_t begin, std::int64_t n,
            float* to) -> Status {
          if (i == fails_at) return fail(ErrorCode::kDevice, "piece {}", i);
          EXPECT_EQ(begin % at_once, 0);
          most = std::max(most, n);
          for (std::int64_t e = 0; e < grid.size_k(i); ++e) {
            for (std::int64_t r = 0; r < n; ++r) {
              const std::int64_t row = j * grid.piece_n + begin + r;
              *to++ = static_cast<float>(100 * row + i * grid.piece_k + e);
            }
          }
          return ok();
        },
        [&](std::int64_t row, std::int64_t element, std::span<const float> floats) {
          EXPECT_EQ(std::ssize(rows[row]), element) << "parts come in order";
          rows[row].insert(rows[row].end(), floats.begin(), floats.end());
        });
  }
};

TEST(MatrixGrid, RowsAreAssembledFromTheirPieces) {
  for (const std::int64_t at_once : {1, 2, 3, 64}) {
    for (std::int64_t first = 0; first < 7; ++first) {
      for (std::int64_t count = 0; first + count <= 7; ++count) {
        ReadBack read;
        ASSERT_TRUE(read.read(first, count, at_once));
        ASSERT_EQ(std::ssize(read.rows), count) << first << " " << at_once;
        EXPECT_LE(read.most, at_once);
        for (const auto& [row, floats] : read.rows) {
          EXPECT_TRUE(row >= first && row < first + count);
          ASSERT_EQ(floats.size(), 10U);
          for (int e = 0; e < 10; ++e) {
            EXPECT_EQ(floats[static_cast<std::size_t>(e)], float(100 * row + e));
          }
        }
      }
    }
  }
}

TEST(MatrixGrid, ErrorOfAPieceEndsReading) {
  ReadBack read;
  read.fails_at = 1;
  const Status status = read.read(0, 7, 64);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "piece 1");
  EXPECT_EQ(read.rows.size(), 5U) << "the first piece of the first rows";
}

}  // namespace
}  // namespace shunt::test::backend_support_matrix_grid_test
