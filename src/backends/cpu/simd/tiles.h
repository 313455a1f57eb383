// Products of weights with many columns by a matrix unit (AMX), which multiplies tiles of BF16.
// These have 16 columns of x, 16 rows of w and 32 elements of k, with sums in F32. x is rounded to
// BF16. Weights are not: a weight that is no BF16 is the sum of two, which are multiplied one after
// the other (w = upper + lower, off by at most 2^-16 of w). Subnormal numbers in x, in w or in a
// sum are 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// Elements of k, rows of w and columns of x of a tile, and bytes of a tile of w or x.
inline constexpr std::int64_t kTileDepth = 32;
inline constexpr std::int64_t kTileSide = 16;
inline constexpr std::int64_t kTileBytes = 1024;

/// Packs `count` (at most kTileSide) columns of k elements, that start x_stride floats apart: tile
/// by tile of 32 elements of k, column by column. Columns that do not exist, and elements beyond k,
/// become zeros.
void pack_tile_columns(Level level, const float* x, std::int64_t x_stride, std::int64_t count,
                       std::int64_t k, std::byte* to);

/// A panel has 2 kTileSide rows of w: for each two elements of k those of all rows. Its bytes fit
/// the L1 cache. Of weights in two parts it has kSplitDepth elements of k, the upper parts first.
/// Of BF16 it has kWholeDepth.
inline constexpr std::int64_t kPanelRowBytes = 2 * kTileSide * 4;
inline constexpr std::int64_t kSplitDepth = 256;
inline constexpr std::int64_t kWholeDepth = 2 * kSplitDepth;
inline constexpr std::int64_t kTilePanelBytes = kWholeDepth / 2 * kPanelRowBytes;
/// Where lower parts start in it.
inline constexpr std::int64_t kLowerPart = kTilePanelBytes / 2;
static_assert(2 * kTileSide == kInt8Rows);

/// Makes a panel in two parts of the codes from decode_panel() or decode_lanes(): k elements (a
/// multiple of 32, at most kSplitDepth) of kInt8Rows rows.
void split_panel(Level level, Int8Need need, const std::byte* codes, std::int64_t k,
                 std::byte* panel);

/// 2 kTileSide rows of w as tiles.
struct TileRows {
  const std::byte* first = nullptr;
  std::int64_t stride = 0;  ///< from two elements of k to the next two, bytes
  std::int64_t second = 0;  ///< where the second kTileSide rows begin
  std::int64_t lower = 0;   ///< where lower parts begin; 0: there are none

  static TileRows panel(const std::byte* panel, bool split) {
    return {panel, kPanelRowBytes, kPanelRowBytes / 2, split ? kLowerPart : 0};
  }
};
/// One or two groups of kTileSide packed columns.
struct TileColumns {
  const std::byte* first = nullptr;
  std::int64_t second = 0;  ///< where the second group begins; 0: there is none
};

/// The calling thread's tile registers, for as long as it lives: one at a time. Only at a
/// level that has_tiles().
class TileUnit {
 public:
  TileUnit();
  ~TileUnit();
  TileUnit(const TileUnit&) = delete;
  TileUnit& operator=(const TileUnit&) = delete;

  /// y[r + c * y_stride] = (or +=, if `add`) row r times column c over `tiles` tiles of k, for all
  /// of these rows and columns.
  void multiply(const TileRows& w, const TileColumns& x, std::int64_t tiles, float* y,
                std::int64_t y_stride, bool add) const;
};

}  // namespace shunt::cpu::simd
