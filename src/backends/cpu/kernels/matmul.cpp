#include "backends/cpu/kernels/matmul.h"

#include <limits>

#include "backends/cpu/kernels/matmul_float.h"
#include "backends/cpu/kernels/matmul_int8.h"
#include "backends/cpu/kernels/matmul_tiles.h"
#include "backends/cpu/kernels/tile.h"
#include "backends/cpu/simd/level.h"
#include "backends/cpu/weight_memory.h"
#include "shunt/ops/matrix.h"

// Two ways, chosen by the number of columns; docs/internals/kernels.md has the reasons and the
// timings. Few columns: an item is some rows of the result, whose weights are decoded in registers
// and used at once. Many columns: an item is a tile of the result. For a stretch of k at a time,
// its rows of w are decoded once, and multiplied with one group of columns after the other. Where
// the machine has a matrix unit, that does many columns of BF16 and of quantised weights
// (matmul_tiles.h). Else, where w is quantised, both multiply 8-bit integers: phase 0 rounds the
// columns of x. Where it is of floats, phase 0 packs columns, if they are many. Rows that are not
// plain are read as F32.

namespace shunt::cpu {

namespace {

/// The most columns that count as few, where rows are read as F32.
constexpr std::int64_t kFewColumns = 4;
/// Of floats whose rows are interleaved.
constexpr std::int64_t few_float_lane_columns(simd::FloatWord word) {
  return word == simd::FloatWord::kTwoBF16 ? 4 : 64;
}
/// Up to this number of packed columns, interleaved words of two BF16 are multiplied straight from
/// memory.
constexpr std::int64_t kDirectColumns = 8 * simd::kFloatColumns;
constexpr std::int64_t kDotItemRows = 16;
/// This number of items is enough for all threads, if columns are not too few.
constexpr std::int64_t kEnoughItems = 64;
constexpr std::int64_t kLeastColumns = 48;

enum class Way : std::uint8_t { kMatrixUnit, kIntegers, kFew, kPacked, kTile };

/// The layout of weights.
struct WeightForm {
  DType dtype = DType::kF32;
  bool plain = false;  ///< rows are
  bool lanes = false;  ///< interleaved, and there are products of that
  simd::Level level = {};
  /// Whether any number of columns counts as many.
  bool batch_invariant = false;
  bool operator==(const WeightForm&) const = default;

  static WeightForm of(const Call& call) {
    const TensorArg& w = call.sources[0];
    return {w.dtype, has_plain_rows(w), w.has_lanes, w.level, call.batch_invariant};
  }
  static WeightForm of(const NodeView& node, const CpuTarget& target) {
    const Tensor& w = node.source(0);
    if (is_interleaved(node, 0))
      return {w.dtype, false, multiplies_interleaved(target.level, w.dtype), target.level,
              target.batch_invariant};
    const bool plain = w.stride(0) == static_cast<std::int64_t>(trait(w.dtype).block_bytes);
    return {w.dtype, plain, false, target.level, target.batch_invariant};
  }
  /// Whether they are multiplied as floats without being read as F32 first.
  bool as_floats() const { return (plain || lanes) && simd::is_float_weight(dtype); }
  /// Whether they are multiplied as integers.
  bool as_integers() const {
    return !simd::is_float_weight(dtype) && (lanes || (plain && simd::has_codes(level, dtype)));
  }
  /// From this number of columns on, the matrix unit multiplies them.
  std::int64_t least_unit_columns() const {
    if (!level.has_tiles()) return kNever;
    const bool whole = as_floats() && simd::float_word(level, dtype) == simd::FloatWord::kTwoBF16;
    if (!as_integers() && !whole) return kNever;
    if (batch_invariant) return 0;
    return whole ? kLeastWholeColumns : kLeastSplitColumns;
  }
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  /// The most columns that count as few, where they are not multiplied as integers.
  std::int64_t few_columns() const {
    if (batch_invariant) return 0;
    if (!as_floats()) return kFewColumns;
    const simd::FloatWord word = simd::float_word(level, dtype);
    return lanes ? few_float_lane_columns(word) : simd::few_float_columns(word);
  }
};

/// The form of x that phase 0 makes for a weight: nodes that need the same form of one x share it.
struct ColumnForm {
  /// Interleaved weights count more columns as few. Few columns have another layout, or phase 0
  /// makes nothing of them.
  bool lanes = false;
  std::optional<simd::FloatWord> packed = {};  ///< none: they are rounded
  simd::Int8Need rounded = {};
  std::int64_t least_unit_columns = WeightForm::kNever;
  bool operator==(const ColumnForm&) const = default;

  static ColumnForm of(const WeightForm& w) {
    ColumnForm form = {.lanes = w.lanes, .least_unit_columns = w.least_unit_columns()};
    if (w.as_floats()) {
      form.packed = simd::float_word(w.level, w.dtype);
    } else {
      form.rounded = need_of(w.level, w.dtype, w.lanes);
    }
    return form;
  }
};

RoundedColumns rounded_columns(const Call& call) {
  return RoundedColumns::of(call.sources[1].sizes, call.level(), call.sources[0].dtype,
                            call.sources[0].has_lanes, call.batch_invariant);
}

PackedColumns packed_columns(const Call& call) {
  return PackedColumns::of(call.sources[1].sizes,
                           simd::float_word(call.level(), call.sources[0].dtype));
}

Way way_of(const Call& call) {
  const WeightForm w = WeightForm::of(call);
  if (call.sources[1].sizes[1] >= w.least_unit_columns()) return Way::kMatrixUnit;
  if (w.as_integers()) return Way::kIntegers;
  if (call.sources[1].sizes[1] <= w.few_columns()) return Way::kFew;
  return w.as_floats() ? Way::kPacked : Way::kTile;
}

/// Whether packed columns are multiplied without a panel.
bool is_direct(const Call& call) {
  const TensorArg& w = call.sources[0];
  return !call.batch_invariant && w.has_lanes &&
         simd::float_word(w.level, w.dtype) == simd::FloatWord::kTwoBF16 &&
         call.sources[1].sizes[1] <= kDirectColumns;
}

/// Whether all columns are multiplied while rows are decoded in registers.
bool few_at_once(const Call& call, Way way) {
  if (way == Way::kPacked) return is_direct(call);
  return way == Way::kFew || (way == Way::kIntegers && rounded_columns(call).few());
}

/// How a result is cut.
struct Cut {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  static Cut of(const Call& call) {
    const Sizes& y = call.result.sizes;
    switch (way_of(call)) {
      case Way::kMatrixUnit:
        return by_matrix_unit(y, call.threads);
      case Way::kIntegers: {
        const RoundedColumns columns = rounded_columns(call);
        if (columns.few()) return {kDotItemRows, columns.few_columns()};
        return {simd::kInt8Rows, many_columns(y, simd::kInt8Rows, simd::kManyColumns)};
      }
      case Way::kFew:
        return {kDotItemRows, std::max<std::int64_t>(1, y[1])};
      case Way::kPacked: {
        if (is_direct(call)) return {kDotItemRows, y[1]};
        const auto columns = packed_columns(call);
        return {simd::kFloatRows, many_columns(y, simd::kFloatRows, columns.together())};
      }
      default:
        return {kTileRows, kTileColumns};
    }
  }
  /// Decoding rows costs as much as 20 columns do. So take as many columns as leave enough items to
  /// share out, in whole groups.
  static std::int64_t many_columns(const Sizes& y, std::int64_t rows, std::int64_t group) {
    const std::int64_t tiles = ceil_div(y[0], rows) * y[2] * y[3];
    const std::int64_t parts =
        std::max<std::int64_t>(1, kEnoughItems / std::max<std::int64_t>(1, tiles));
    const std::int64_t columns = std::max(kLeastColumns, ceil_div(y[1], parts));
    return ceil_div(columns, group) * group;
  }
  /// Items as large as leave some for each thread.
  static Cut by_matrix_unit(const Sizes& y, int threads) {
    constexpr std::int64_t kItemsPerThread = 4;
    const std::int64_t enough = kItemsPerThread * threads;
    const std::int64_t slices = std::max<std::int64_t>(1, y[2] * y[3]);
    const std::int64_t across = std::max<std::int64_t>(1, ceil_div(y[1], kUnitColumns));
    Cut cut{kUnitRows, kUnitColumns};
    while (cut.rows > kTilePanelRows && ceil_div(y[0], cut.rows) * across * slices < enough) {
      cut.rows /= 2;
    }
    const std::int64_t tiles = std::max<std::int64_t>(1, ceil_div(y[0], cut.rows) * slices);
    const std::int64_t columns =
        std::max(kLeastSplitColumns, ceil_div(y[1], ceil_div(enough, tiles)));
    cut.columns = std::min(kUnitColumns, ceil_div(columns, kTilePanelRows) * kTilePanelRows);
    return cut;
  }
  std::int64_t items(const TensorArg& y) const {
    return ceil_div(y.sizes[0], rows) * ceil_div(y.sizes[1], columns) * y.sizes[2] * y.sizes[3];
  }
  /// Items that share columns follow each other.
  MatmulTile tile(const TensorArg& y, std::int64_t item) const {
    const std::int64_t across = ceil_div(y.sizes[0], rows);
    const std::int64_t down = ceil_div(y.sizes[1], columns);
    MatmulTile t;
    t.row = item % across * rows;
    t.column = item / across % down * columns;
    t.rows = std::min(rows, y.sizes[0] - t.row);
    t.columns = std::min(columns, y.sizes[1] - t.column);
    const std::int64_t slice = item / (across * down);
    t.i2 = slice % y.sizes[2];
    t.i3 = slice / y.sizes[2];
    t.y = as_f32(y.row(t.column, t.i2, t.i3)) + t.row;
    t.y_stride = y.strides[1] / static_cast<std::int64_t>(sizeof(float));
    return t;
  }
};

/// w and x of a tile, at their start along k.
struct Operands {
  TensorArg w;
  TensorArg x;

  Operands(const Call& call, const MatmulTile& t) : w(call.sources[t.weight]), x(call.sources[1]) {
    const Sizes& y_sizes = call.result.sizes;
    const auto slice_of = [&](const TensorArg& from, std::int64_t row) {
      return from.row(row, t.i2 / (y_sizes[2] / from.sizes[2]),
                      t.i3 / (y_sizes[3] / from.sizes[3]));
    };
    w.data = slice_of(w, t.row);
    x.data = slice_of(x, t.column);
  }
};

/// Number of the slice of x that a tile is made of.
std::int64_t x_slice(const Call& call, const MatmulTile& t) {
  const Sizes& x = call.sources[1].sizes;
  const Sizes& y = call.result.sizes;
  return t.i2 / (y[2] / x[2]) + t.i3 / (y[3] / x[3]) * x[2];
}

/// Of a call whose phase 0 has packed x in tiles.
void multiply_tile_columns(const Call& call, const MatmulTile& t, std::byte* scratch) {
  const Operands in(call, t);
  const PackedTiles columns = PackedTiles::of(call.sources[1].sizes);
  multiply_by_tiles(in.w, t.rows, columns, call.scratch + x_slice(call, t) * columns.slice_bytes(),
                    t.column, t.columns, t.y, t.y_stride, scratch);
}

/// Of a call whose phase 0 has rounded x.
void multiply_integers(const Call& call, const MatmulTile& t, std::byte* scratch) {
  const Operands in(call, t);
  const RoundedColumns columns = rounded_columns(call);
  const std::byte* rounded = call.scratch + x_slice(call, t) * columns.slice_bytes();
  if (columns.few()) {
    return multiply_few_rounded(in.w, t.rows, columns, rounded, t.y, t.y_stride);
  }
  multiply_rounded(in.w, t.rows, columns, rounded, t.column, t.columns, t.y, t.y_stride, scratch);
}

/// Of a call whose phase 0 has packed x.
void multiply_packed_columns(const Call& call, const MatmulTile& t, std::byte* scratch) {
  const Operands in(call, t);
  const auto columns = packed_columns(call);
  const std::byte* packed = call.scratch + x_slice(call, t) * columns.slice_bytes();
  if (is_direct(call)) return multiply_directly(in.w, t.rows, columns, packed, t.y, t.y_stride);
  multiply_words(in.w, t.rows, columns, packed, t.column, t.columns, t.y, t.y_stride, scratch);
}

void multiply_few_columns(const Call& call, const MatmulTile& t, float* scratch) {
  const Operands in(call, t);
  const std::int64_t k = in.w.sizes[0];
  const float* x = as_f32(in.x.data);
  std::int64_t x_stride = in.x.strides[1] / static_cast<std::int64_t>(sizeof(float));
  if (in.x.dtype != DType::kF32 || !has_plain_rows(in.x)) {
    for (std::int64_t c = 0; c < t.columns; ++c) read_f32(in.x, in.x.row(c), 0, k, scratch + c * k);
    x = scratch;
    x_stride = k;
  }
  if (in.w.has_lanes) {
    simd::multiply_float_lanes(call.level(), in.w.dtype, in.w.data, t.rows, x, x_stride, t.columns,
                               k, t.y, t.y_stride);
    return;
  }
  if (has_plain_rows(in.w)) {
    simd::dot_rows(call.level(), in.w.dtype, in.w.data, in.w.strides[1], t.rows, x, x_stride,
                   t.columns, k, t.y, t.y_stride);
    return;
  }
  float* row = scratch + t.columns * k;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    read_f32(in.w, in.w.row(r), 0, k, row);
    simd::dot_rows(call.level(), DType::kF32, reinterpret_cast<const std::byte*>(row), 0, 1, x,
                   x_stride, t.columns, k, t.y + r, t.y_stride);
  }
}

void multiply_many_columns(const Call& call, const MatmulTile& t, float* scratch) {
  const Operands in(call, t);
  const auto rows_of = [](const TensorArg& from) {
    return [&from](std::int64_t row, std::int64_t first, std::int64_t count, float* to) {
      read_f32(from, from.row(row), first, count, to);
    };
  };
  multiply_tile(call.level(), t.rows, t.columns, in.w.sizes[0], rows_of(in.w), rows_of(in.x), t.y,
                t.y_stride, scratch);
}

class Matmul final : public MatmulKernel {
 public:
  const Op& op() const override { return matmul_op(); }
  int phases() const override { return 2; }
  bool reads_interleaved(std::size_t source) const override { return source == 0; }
  bool streams(std::size_t source) const override { return source == 0; }
  std::int64_t items(const Call& call, int phase) const override {
    if (phase == 1) return Cut::of(call).items(call.result);
    const Sizes& x = call.sources[1].sizes;
    switch (way_of(call)) {
      case Way::kMatrixUnit:
        return x[2] * x[3] * PackedTiles::of(x).groups();
      case Way::kIntegers:
        return rounded_columns(call).items();
      case Way::kPacked:
        return x[2] * x[3] * packed_columns(call).groups();
      default:
        return 0;
    }
  }

  /// A thread that takes less than this many multiply-adds is waited for longer than it helps.
  std::int64_t grain(const Call& call, int phase) const override {
    constexpr std::int64_t kWorthTaking = 65536;
    const std::int64_t k = call.sources[0].sizes[0];
    if (phase == 0) {
      constexpr std::int64_t kWorthRounding = 2048;  // elements
      if (way_of(call) != Way::kIntegers) return grain_for(k);
      const RoundedColumns columns = rounded_columns(call);
      return std::max<std::int64_t>(
          1, kWorthRounding / std::max<std::int64_t>(1, columns.piece() * columns.together()));
    }
    const Cut cut = Cut::of(call);
    const std::int64_t columns = std::min(cut.columns, call.result.sizes[1]);
    return std::max<std::int64_t>(1,
                                  kWorthTaking / std::max<std::int64_t>(1, cut.rows * columns * k));
  }

  std::optional<Staging> staging(const NodeView& node, const CpuTarget& target) const override {
    if (scratch(node, target) == 0) return {};
    return Staging{.maker = this, .source = 1};
  }
  bool same_staging(const NodeView& a, const NodeView& b, const CpuTarget& target) const override {
    return ColumnForm::of(WeightForm::of(a, target)) == ColumnForm::of(WeightForm::of(b, target));
  }
  std::size_t scratch(const NodeView& node, const CpuTarget& target) const override {
    const WeightForm w = WeightForm::of(node, target);
    Sizes x = max_sizes(node.source(1).shape);
    std::int64_t most = 0;  // a run may have fewer columns
    const std::int64_t least = w.least_unit_columns();
    if (x[1] >= least) {
      most = PackedTiles::of(x).bytes();
      if (least == 0) return static_cast<std::size_t>(most);
      x[1] = least - 1;
    }
    if (w.as_floats()) {
      if (x[1] > w.few_columns())
        most = std::max(most, PackedColumns::of(x, simd::float_word(w.level, w.dtype)).bytes());
    } else if (w.as_integers()) {
      RoundedColumns columns = RoundedColumns::of(x, w.level, w.dtype, w.lanes, w.batch_invariant);
      most = std::max(most, columns.bytes());
      const std::int64_t few = std::min(columns.n, columns.few_columns());
      for (columns.n = 1; columns.n <= few; ++columns.n) most = std::max(most, columns.bytes());
    }
    return static_cast<std::size_t>(most);
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget& target) const override {
    const auto floats = [](std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); };
    const WeightForm w = WeightForm::of(node, target);
    const std::int64_t k = node.source(0).size(0);
    const bool plain_x = view_f32_bytes(node.source(1), 1) == 0;
    const bool unit = max_sizes(node.source(1).shape)[1] >= w.least_unit_columns();
    const std::size_t by_unit = !unit ? 0
                                      : std::max(static_cast<std::size_t>(kTilesScratch),
                                                 plain_x ? 0 : floats(kTilePackingFloats));
    if (w.as_integers()) {
      return std::max({static_cast<std::size_t>(kRoundedScratch), by_unit,
                       plain_x ? 0 : floats(rounding_floats(w.level, k))});
    }
    const bool reads = plain_x && (w.plain || w.lanes);
    const std::size_t few = reads ? 0 : floats((w.few_columns() + 1) * k);
    if (w.as_floats()) {
      return std::max({static_cast<std::size_t>(simd::kFloatPanelBytes), by_unit,
                       plain_x ? 0 : floats(kPackingFloats), few});
    }
    return std::max(floats(kTileScratch), few);
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    if (phase == 0) {
      prepare_columns(call, begin, end, scratch);
      return Fault::kNone;
    }
    for (std::int64_t item = begin; item < end;) {
      const MatmulTile here = tile(call, item, end, std::numeric_limits<std::int64_t>::max());
      multiply(call, here, scratch);
      item += here.items;
    }
    return Fault::kNone;
  }

  bool same_form(const NodeView& a, const NodeView& b, const CpuTarget& target) const override {
    return WeightForm::of(a, target) == WeightForm::of(b, target);
  }
  std::int64_t tile_elements(const NodeView& node, const CpuTarget& target,
                             std::int64_t most) const override {
    const std::int64_t rows =
        std::max({simd::kInt8Rows, simd::kFloatRows, kTileRows, kDotItemRows});
    const std::int64_t columns = max_sizes(node.source(1).shape)[1];
    const std::int64_t of_unit = kUnitRows * std::min(columns, kUnitColumns);
    const bool unit = columns >= WeightForm::of(node, target).least_unit_columns();
    return std::max({most, rows * columns, unit ? of_unit : 0});
  }
  MatmulTile tile(const Call& call, std::int64_t item, std::int64_t end,
                  std::int64_t most) const override {
    const Cut cut = Cut::of(call);
    MatmulTile tile = cut.tile(call.result, item);
    if (!few_at_once(call, way_of(call))) return tile;
    // Items that follow each other are rows of w that do: they are read in one go.
    const std::int64_t across = ceil_div(call.result.sizes[0], cut.rows);
    const std::int64_t each = cut.rows * std::max<std::int64_t>(1, tile.columns);
    tile.items =
        std::min({end - item, across - item % across, std::max<std::int64_t>(1, most / each)});
    tile.rows = std::min(tile.items * cut.rows, call.result.sizes[0] - tile.row);
    return tile;
  }
  StreamedBytes streamed(const Call& call, int phase, std::int64_t begin,
                         std::int64_t end) const override {
    if (phase == 0) return {};
    return {streamed_rows(call, 0, begin, end)};
  }
  std::span<const std::byte> streamed_rows(const Call& call, std::size_t weight, std::int64_t begin,
                                           std::int64_t end) const override {
    const TensorArg& w = call.sources[weight];
    const Sizes& y = call.result.sizes;
    const Cut cut = Cut::of(call);
    const bool once = y[1] <= cut.columns && y[2] * y[3] == 1;
    const std::int64_t first = begin * cut.rows;
    const std::int64_t rows = std::min(end * cut.rows, y[0]) - first;
    const bool in_a_row = w.strides[1] * trait(w.dtype).block_elements == w.sizes[0] * w.strides[0];
    if (!once || !in_a_row || rows <= 0 || !few_at_once(call, way_of(call))) return {};
    return {w.data + first * w.strides[1], static_cast<std::size_t>(rows * w.strides[1])};
  }
  void multiply(const Call& call, const MatmulTile& tile, std::byte* scratch) const override {
    switch (way_of(call)) {
      case Way::kMatrixUnit:
        return multiply_tile_columns(call, tile, scratch);
      case Way::kIntegers:
        return multiply_integers(call, tile, scratch);
      case Way::kPacked:
        return multiply_packed_columns(call, tile, scratch);
      case Way::kFew:
        return multiply_few_columns(call, tile, as_f32(scratch));
      case Way::kTile:
        return multiply_many_columns(call, tile, as_f32(scratch));
    }
  }

 private:
  static void prepare_columns(const Call& call, std::int64_t begin, std::int64_t end,
                              std::byte* scratch) {
    const TensorArg& x = call.sources[1];
    const Way way = way_of(call);
    for (std::int64_t item = begin; item < end; ++item) {
      if (way == Way::kMatrixUnit) {
        pack_tile_group(x, PackedTiles::of(x.sizes), item, call.scratch, as_f32(scratch));
      } else if (way == Way::kIntegers) {
        round_columns(x, rounded_columns(call), item, call.scratch, as_f32(scratch));
      } else {
        pack_group(x, packed_columns(call), item, call.scratch, as_f32(scratch));
      }
    }
  }
};

}  // namespace

const MatmulKernel& matmul_kernel() {
  static const Matmul kKernel;
  return kKernel;
}

KernelList matmul_kernels() {
  static const CpuKernel* const kKernels[] = {&matmul_kernel()};
  return kKernels;
}

}  // namespace shunt::cpu
