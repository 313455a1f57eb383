#include "backends/cpu/kernels/matmul_float.h"
#include "shunt/ops/training.h"

// A product of matrices whose sums go over a's rows and b's rows. Data that matmul has to transpose
// is already in the layout of float_many.h, and is copied. Phase 0 packs b, once for all rows of
// the result. An item of phase 1 is a tile of the result.

namespace shunt::cpu {

namespace {

/// Tiles of the result, and stretches of the sum for which a tile's rows fit a panel's memory.
struct OutProdTiles {
  std::int64_t rows = simd::kFloatRows;
  std::int64_t depth = simd::kFloatDepth;
  std::int64_t columns = 0;

  static OutProdTiles of(const Call& call, const PackedColumns& b) {
    constexpr std::int64_t kTilesPerResult = 64;
    constexpr std::int64_t kMinTileColumns = 48;
    OutProdTiles tiling;
    // Whole blocks of every type are decoded at once.
    if (trait(call.sources[0].dtype).block_elements > 1) {
      tiling.rows = kBlockRows;
      tiling.depth = simd::kFloatDepth * simd::kFloatRows / kBlockRows;
    }
    const Sizes& y = call.result.sizes;
    const std::int64_t tiles = std::max<std::int64_t>(1, ceil_div(y[0], tiling.rows) * y[2] * y[3]);
    const std::int64_t columns =
        std::max(kMinTileColumns, ceil_div(y[1], ceil_div(kTilesPerResult, tiles)));
    tiling.columns = ceil_div(columns, b.together()) * b.together();
    return tiling;
  }

  static constexpr std::int64_t kBlockRows = 256;
};

/// Copies `count` floats, nearly always Most of them: these need no call.
template <std::int64_t Most>
void copy_floats(const float* from, std::int64_t count, float* to) {
  if (count == Most) {
    std::memcpy(to, from, Most * sizeof(float));
  } else {
    std::copy_n(from, count, to);
  }
}

/// b, with the sum along dimension 0.
TensorArg turned(TensorArg b) {
  std::swap(b.sizes[0], b.sizes[1]);
  std::swap(b.strides[0], b.strides[1]);
  return b;
}

class OutProd final : public AnyCaseKernel {
 public:
  const Op& op() const override { return out_prod_op(); }
  int phases() const override { return 2; }
  std::int64_t items(const Call& call, int phase) const override {
    const PackedColumns b = packed(call);
    if (phase == 0) return b.slices * b.groups();
    const OutProdTiles tiling = OutProdTiles::of(call, b);
    const Sizes& y = call.result.sizes;
    return ceil_div(y[0], tiling.rows) * ceil_div(y[1], tiling.columns) * y[2] * y[3];
  }
  std::int64_t grain(const Call& call, int phase) const override {
    if (phase == 1) return 1;
    return grain_for(call.sources[1].sizes[1] * simd::kFloatColumns);
  }
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    const Sizes b = max_sizes(node.source(1).shape);
    return static_cast<std::size_t>(
        PackedColumns::of({b[1], b[0], b[2], b[3]}, simd::FloatWord::kF32).bytes());
  }
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const override {
    return static_cast<std::size_t>(simd::kFloatPanelBytes) +
           static_cast<std::size_t>(std::max(OutProdTiles::kBlockRows, kPackingFloats)) *
               sizeof(float);
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    float* room = as_f32(scratch + simd::kFloatPanelBytes);
    const PackedColumns columns = packed(call);
    for (std::int64_t item = begin; item < end; ++item) {
      if (phase == 0) {
        pack(call.sources[1], columns, item, call.scratch, room);
      } else {
        multiply(call, columns, item, scratch, room);
      }
    }
    return Fault::kNone;
  }

 private:
  static PackedColumns packed(const Call& call) {
    return PackedColumns::of(turned(call.sources[1]).sizes, simd::FloatWord::kF32);
  }

  static void pack(const TensorArg& b, const PackedColumns& to, std::int64_t item,
                   std::byte* scratch, float* room) {
    if (!has_plain_rows(b)) return pack_group(turned(b), to, item, scratch, room);
    const std::int64_t slice = item / to.groups();
    const std::int64_t first = item % to.groups() * to.together();
    const std::int64_t count = std::min(to.together(), to.n - first);
    float* at = as_f32(scratch + item * to.group_bytes());
    for (std::int64_t k = 0; k < to.k; ++k, at += simd::kFloatColumns) {
      const float* row = as_f32(b.row(k, slice % b.sizes[2], slice / b.sizes[2]));
      copy_floats<simd::kFloatColumns>(row + first, count, at);
    }
  }

  static void multiply(const Call& call, const PackedColumns& b, std::int64_t item,
                       std::byte* panels, float* room) {
    const OutProdTiles tiling = OutProdTiles::of(call, b);
    const TensorArg& y = call.result;
    const std::int64_t across = ceil_div(y.sizes[0], tiling.rows);
    const std::int64_t down = ceil_div(y.sizes[1], tiling.columns);
    const std::int64_t m = item % across * tiling.rows;
    const std::int64_t n = item / across % down * tiling.columns;
    const std::int64_t slice = item / (across * down);
    const std::int64_t i2 = slice % y.sizes[2];
    const std::int64_t i3 = slice / y.sizes[2];
    const std::int64_t rows = std::min(tiling.rows, y.sizes[0] - m);
    const std::int64_t columns = std::min(tiling.columns, y.sizes[1] - n);
    TensorArg a = call.sources[0];
    a.data = a.row(0, i2 / (y.sizes[2] / a.sizes[2]), i3 / (y.sizes[3] / a.sizes[3]));
    float* to = as_f32(y.row(n, i2, i3)) + m;
    const std::int64_t y_stride = y.strides[1] / static_cast<std::int64_t>(sizeof(float));
    // Once where k is 0, to write zeros.
    for (std::int64_t k = 0; k == 0 || k < b.k; k += tiling.depth) {
      const std::int64_t depth = std::min(tiling.depth, b.k - k);
      fill_panels(a, m, rows, k, depth, as_f32(panels), room);
      for (std::int64_t r = 0; r < rows; r += simd::kFloatRows) {
        for (std::int64_t c = 0; c < columns; c += b.together()) {
          const std::byte* group = call.scratch + slice * b.slice_bytes() +
                                   (n + c) / b.together() * b.group_bytes() +
                                   k * PackedColumns::kWordBytes;
          simd::multiply_packed(
              call.level(), b.word, panels + r * depth * static_cast<std::int64_t>(sizeof(float)),
              std::min(simd::kFloatRows, rows - r), depth, group,
              std::min(b.together(), columns - c), to + r + c * y_stride, y_stride, k > 0);
        }
      }
    }
  }

  /// Elements [m, m + rows) of rows [k, k + depth) of a: a panel for each kFloatRows of them.
  static void fill_panels(const TensorArg& a, std::int64_t m, std::int64_t rows, std::int64_t k,
                          std::int64_t depth, float* panels, float* room) {
    if (a.dtype == DType::kF32 && a.strides[1] == sizeof(float)) {
      const std::byte* from = a.row(k) + m * a.strides[0];
      return simd::pack_rows(a.level, a.dtype, from, a.strides[0], rows, depth,
                             reinterpret_cast<std::byte*>(panels));
    }
    for (std::int64_t i = 0; i < depth; ++i) {
      const float* row = view_f32(a, a.row(k + i), m, rows, room);
      for (std::int64_t r = 0; r < rows; r += simd::kFloatRows) {
        const std::int64_t here = std::min(simd::kFloatRows, rows - r);
        float* to = panels + r * depth + i * simd::kFloatRows;
        copy_floats<simd::kFloatRows>(row + r, here, to);
        std::fill(to + here, to + simd::kFloatRows, 0.0F);
      }
    }
  }
};

}  // namespace

KernelList out_prod_kernels() {
  return list_kernels<CpuKernel, OutProd>();
}

}  // namespace shunt::cpu
