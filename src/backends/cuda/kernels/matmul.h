#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Rows and columns of the result that a block computes at a time.
inline constexpr int kMatmulRows = 32;
inline constexpr int kMatmulColumns = 64;
inline constexpr int kMatmulThreads = 256;
/// Threads of the block that sorts the experts of a matmul_id.
inline constexpr unsigned kSortThreads = 256;

/// Elements of a column that share a scale where columns are rounded to numbers of 8 bits.
inline constexpr int kScaledElements = 32;

/// Columns as the products read them: contiguous F32, or numbers of 8 bits and their scales (F32).
struct PackedColumns {
  TensorArg data, scales;
};

/// Columns of a tile of matmul_id, whose expert is the same: `count` entries from `first` on.
struct ExpertTile {
  u32 expert, first, count;
};
/// Entries of ids by their experts. Entry u + U * t is ids[u, t].
struct ExpertLists {
  Pointer<u32> entries;
  Pointer<ExpertTile> tiles;
  Pointer<u32> tile_count;  ///< null in a matmul
};

struct MatmulArgs {
  Common common;
  TensorArg w, x, y;
  PackedColumns columns;
  IdsArg ids;
  ExpertLists experts;
};

}  // namespace shunt::cuda::gpu
