#include "backends/cpu/kernels/matmul_int8.h"
#include "backends/cpu/kernels/tile.h"
#include "shunt/ops/matrix.h"

// Two ways, chosen by the number of columns; docs/kernels.md has the reasons and the timings.
// Few columns: an item is some rows of the result, whose weights are decoded in registers and used
// at once. Many columns: an item is a tile of the result. For a stretch of k at a time, its rows of
// w are decoded once, and multiplied with one group of columns after the other.
// Where w is quantised, both multiply 8-bit integers: phase 0 rounds the columns of x.

namespace shunt::cpu {

namespace {

/// Up to so many columns are few.
constexpr std::int64_t kFewColumns = 4;
constexpr std::int64_t kDotItemRows = 16;
/// Products of integers: so many items are enough for all threads, if columns are not too few.
constexpr std::int64_t kEnoughItems = 64;
constexpr std::int64_t kLeastColumns = 48;

/// Whether w is multiplied by its codes.
bool in_integers(const Call& call) {
  const TensorArg& w = call.sources[0];
  return simd::has_codes(w.dtype) && has_plain_rows(w);
}

/// Where an item lies in the result.
struct Tile {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
  std::int64_t i2 = 0;
  std::int64_t i3 = 0;
};

/// How a result is cut.
struct Cut {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  static Cut of(const Call& call) {
    const Sizes& y = call.result.sizes;
    if (in_integers(call)) {
      const auto few = simd::few_columns(simd::int8_need(call.sources[0].dtype));
      if (y[1] <= few) return {kDotItemRows, few};
      return {simd::kInt8Rows, integer_columns(y)};
    }
    if (y[1] <= kFewColumns) return {kDotItemRows, kFewColumns};
    return {kTileRows, kTileColumns};
  }
  /// Decoding rows costs what 20 columns do: as many columns as leave enough items to share out.
  static std::int64_t integer_columns(const Sizes& y) {
    const std::int64_t tiles = ceil_div(y[0], simd::kInt8Rows) * y[2] * y[3];
    const std::int64_t parts =
        std::max<std::int64_t>(1, kEnoughItems / std::max<std::int64_t>(1, tiles));
    const std::int64_t columns = std::max(kLeastColumns, ceil_div(y[1], parts));
    return ceil_div(columns, simd::kManyColumns) * simd::kManyColumns;
  }
  std::int64_t items(const TensorArg& y) const {
    return ceil_div(y.sizes[0], rows) * ceil_div(y.sizes[1], columns) * y.sizes[2] * y.sizes[3];
  }
  /// Items that share columns follow each other.
  Tile tile(const TensorArg& y, std::int64_t item) const {
    const std::int64_t across = ceil_div(y.sizes[0], rows);
    const std::int64_t down = ceil_div(y.sizes[1], columns);
    Tile t;
    t.row = item % across * rows;
    t.column = item / across % down * columns;
    t.rows = std::min(rows, y.sizes[0] - t.row);
    t.columns = std::min(columns, y.sizes[1] - t.column);
    const std::int64_t slice = item / (across * down);
    t.i2 = slice % y.sizes[2];
    t.i3 = slice / y.sizes[2];
    return t;
  }
};

/// w and x of a tile, at their start along k.
struct Operands {
  TensorArg w;
  TensorArg x;
  float* y = nullptr;
  std::int64_t y_stride = 0;

  Operands(const Call& call, const Tile& t) : w(call.sources[0]), x(call.sources[1]) {
    const Sizes& y_sizes = call.result.sizes;
    const auto slice_of = [&](const TensorArg& from, std::int64_t row) {
      return from.row(row, t.i2 / (y_sizes[2] / from.sizes[2]),
                      t.i3 / (y_sizes[3] / from.sizes[3]));
    };
    w.data = slice_of(w, t.row);
    x.data = slice_of(x, t.column);
    y = as_f32(call.result.row(t.column, t.i2, t.i3)) + t.row;
    y_stride = call.result.strides[1] / static_cast<std::int64_t>(sizeof(float));
  }
};

/// Of a call whose phase 0 has rounded x.
void multiply_integers(const Call& call, const Tile& t, std::byte* scratch) {
  const Operands in(call, t);
  const TensorArg& x = call.sources[1];
  const auto columns = RoundedColumns::of(x.sizes, in.w.dtype);
  const Sizes& y_sizes = call.result.sizes;
  const std::int64_t slice =
      t.i2 / (y_sizes[2] / x.sizes[2]) + t.i3 / (y_sizes[3] / x.sizes[3]) * x.sizes[2];
  const std::byte* rounded = call.scratch + slice * columns.slice_bytes();
  if (columns.few()) {
    return simd::multiply_few(in.w.dtype, in.w.data, in.w.strides[1], t.rows, rounded, t.columns,
                              in.w.sizes[0], in.y, in.y_stride);
  }
  multiply_rounded(in.w, t.rows, columns, rounded, t.column, t.columns, in.y, in.y_stride, scratch);
}

void multiply_few_columns(const Call& call, const Tile& t, float* scratch) {
  const Operands in(call, t);
  const std::int64_t k = in.w.sizes[0];
  const float* x = as_f32(in.x.data);
  std::int64_t x_stride = in.x.strides[1] / static_cast<std::int64_t>(sizeof(float));
  if (in.x.dtype != DType::kF32 || !has_plain_rows(in.x)) {
    for (std::int64_t c = 0; c < t.columns; ++c) read_f32(in.x, in.x.row(c), 0, k, scratch + c * k);
    x = scratch;
    x_stride = k;
  }
  if (has_plain_rows(in.w)) {
    simd::dot_rows(in.w.dtype, in.w.data, in.w.strides[1], t.rows, x, x_stride, t.columns, k, in.y,
                   in.y_stride);
    return;
  }
  float* row = scratch + t.columns * k;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    read_f32(in.w, in.w.row(r), 0, k, row);
    simd::dot_rows(DType::kF32, reinterpret_cast<const std::byte*>(row), 0, 1, x, x_stride,
                   t.columns, k, in.y + r, in.y_stride);
  }
}

void multiply_many_columns(const Call& call, const Tile& t, float* scratch) {
  const Operands in(call, t);
  const auto rows_of = [](const TensorArg& from) {
    return [&from](std::int64_t row, std::int64_t first, std::int64_t count, float* to) {
      read_f32(from, from.row(row), first, count, to);
    };
  };
  multiply_tile(t.rows, t.columns, in.w.sizes[0], rows_of(in.w), rows_of(in.x), in.y, in.y_stride,
                scratch);
}

class Matmul final : public AnyCaseKernel {
 public:
  const Op& op() const override { return matmul_op(); }
  int phases() const override { return 2; }
  std::int64_t items(const Call& call, int phase) const override {
    if (phase == 1) return Cut::of(call).items(call.result);
    if (!in_integers(call) || call.result.sizes[0] == 0) return 0;
    const auto columns = RoundedColumns::of(call.sources[1].sizes, call.sources[0].dtype);
    return columns.slices * columns.groups();
  }

  /// A thread that takes less than this many multiply-adds is waited for longer than it helps.
  std::int64_t grain(const Call& call, int phase) const override {
    constexpr std::int64_t kWorthTaking = 65536;
    const std::int64_t k = call.sources[0].sizes[0];
    if (phase == 0) return grain_for(k);
    const Cut cut = Cut::of(call);
    const std::int64_t columns = std::min(cut.columns, call.result.sizes[1]);
    return std::max<std::int64_t>(1,
                                  kWorthTaking / std::max<std::int64_t>(1, cut.rows * columns * k));
  }

  std::optional<Staging> staging(const NodeView& node) const override {
    if (scratch(node) == 0) return {};
    const simd::Int8Need need = simd::int8_need(node.source(0).dtype);
    return Staging{1, (static_cast<std::int64_t>(need.order) * 4 + need.scales) * 4 + need.mins};
  }
  std::size_t scratch(const NodeView& node) const override {
    const Tensor& w = node.source(0);
    if (!simd::has_codes(w.dtype) || !plain_rows(w)) return 0;
    RoundedColumns columns = RoundedColumns::of(max_sizes(node.source(1).shape), w.dtype);
    const std::int64_t many = columns.bytes();
    columns.n = std::min(columns.n, simd::few_columns(columns.need));  // a run may have fewer
    return static_cast<std::size_t>(std::max(many, columns.bytes()));
  }
  std::size_t worker_scratch(const NodeView& node) const override {
    const auto floats = [](std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); };
    const Tensor& w = node.source(0);
    const bool plain_x = view_f32_bytes(node.source(1), 1) == 0;
    if (scratch(node) != 0) {
      return std::max(static_cast<std::size_t>(kRoundedScratch),
                      plain_x ? 0 : floats(rounding_floats(w.size(0))));
    }
    const std::size_t panels = floats(kTileScratch);
    if (plain_rows(w) && plain_x) return panels;
    return std::max(panels, floats((kFewColumns + 1) * w.size(0)));
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    if (phase == 0) {
      const TensorArg& x = call.sources[1];
      const auto columns = RoundedColumns::of(x.sizes, call.sources[0].dtype);
      for (std::int64_t item = begin; item < end; ++item) {
        round_columns(x, columns, item, call.scratch, as_f32(scratch));
      }
      return Fault::kNone;
    }
    const Cut cut = Cut::of(call);
    const bool integers = in_integers(call);
    if (!integers && call.result.sizes[1] <= kFewColumns) {
      // Items that follow each other are rows of w that do: they are taken at once.
      const std::int64_t across = ceil_div(call.result.sizes[0], cut.rows);
      for (std::int64_t item = begin; item < end;) {
        const std::int64_t together = std::min(end - item, across - item % across);
        Tile tile = cut.tile(call.result, item);
        tile.rows = std::min(together * cut.rows, call.result.sizes[0] - tile.row);
        multiply_few_columns(call, tile, as_f32(scratch));
        item += together;
      }
      return Fault::kNone;
    }
    for (std::int64_t item = begin; item < end; ++item) {
      const Tile tile = cut.tile(call.result, item);
      if (integers) {
        multiply_integers(call, tile, scratch);
      } else {
        multiply_many_columns(call, tile, as_f32(scratch));
      }
    }
    return Fault::kNone;
  }

 private:
  static bool plain_rows(const Tensor& w) {
    return w.stride(0) == static_cast<std::int64_t>(trait(w.dtype).block_bytes);
  }
};

}  // namespace

KernelList matmul_kernels() {
  static const Matmul kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
