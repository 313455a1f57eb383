// matmul's kernel in parts, for kernels that do something with its tiles before they are in memory.
#pragma once

#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// A piece of the result, and where it is written.
struct MatmulTile {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
  std::int64_t i2 = 0;
  std::int64_t i3 = 0;
  std::int64_t items = 1;  ///< that it is made of
  std::size_t weight = 0;  ///< number of its source
  float* y = nullptr;      ///< of its first row and column
  std::int64_t y_stride = 0;
};

/// Phase 0 makes another form of x in shared scratch; phase 1 is tiles.
class MatmulKernel : public AnyCaseKernel {
 public:
  /// Whether two nodes of the same shapes have the same tiles.
  virtual bool same_form(const NodeView& a, const NodeView& b, const CpuTarget& target) const = 0;
  /// The tile that starts with an item of phase 1, and goes on before `end` as long as that is one
  /// piece to read, and no more than `most` elements.
  virtual MatmulTile tile(const Call& call, std::int64_t item, std::int64_t end,
                          std::int64_t most) const = 0;
  /// The most elements that a tile has then.
  virtual std::int64_t tile_elements(const NodeView& node, const CpuTarget& target,
                                     std::int64_t most) const = 0;
  /// The weights, in source number `weight`, of items [begin, end) of phase 1, as streamed() has
  /// it.
  virtual std::span<const std::byte> streamed_rows(const Call& call, std::size_t weight,
                                                   std::int64_t begin, std::int64_t end) const = 0;
  /// Computes a tile; `scratch` as run() has it.
  virtual void multiply(const Call& call, const MatmulTile& tile, std::byte* scratch) const = 0;
};

const MatmulKernel& matmul_kernel();

}  // namespace shunt::cpu
