#include "backends/cpu/kernels/expert_columns.h"
#include "backends/cpu/kernels/expert_pairs.h"
#include "backends/cpu/kernels/tile.h"
#include "backends/cpu/simd/float_lanes.h"
#include "shunt/ops/matrix.h"

// A column of the result is a pair of a token and one of its experts. The first phase sorts pairs
// by expert, the second rounds columns where weights are multiplied as integers. An item of the
// third is some rows of one expert's matrix, which it multiplies with all columns of that expert.
// So weights are read from memory once.

namespace shunt::cpu {

namespace {

/// Up to this number of columns of an expert, weights are decoded in registers, as for matmul.
constexpr std::int64_t kFewExpertColumns = 4;
/// Columns that are taken at once there: any two are some stride apart.
constexpr std::int64_t kTwo = 2;

/// `scratch` has room for columns that can't be viewed as F32 in place.
void multiply_few_columns(const Call& call, const ExpertPairs& pairs, const ExpertItem& item,
                          float* scratch) {
  const TensorArg& w = item.w;
  const std::int64_t k = w.sizes[0];
  const auto read = [&](const ExpertColumn& column, float* room) {
    return view_f32(call.sources[1], column.x, 0, k, room);
  };
  for (std::int64_t i = 0; i < item.columns;) {
    const ExpertColumn a = pairs.column(call, item.first + i, item.row);
    ExpertColumn b = a;
    if (i + 1 < item.columns) b = pairs.column(call, item.first + i + 1, item.row);
    // Never backwards, as a permuted x may ask for.
    const std::int64_t count = b.y > a.y && b.x >= a.x ? kTwo : 1;
    const float* x = read(a, scratch);
    const std::int64_t x_stride = count == 1 ? 0 : read(b, scratch + k) - x;
    const std::int64_t y_stride = count == 1 ? 0 : b.y - a.y;
    simd::dot_rows(call.level(), w.dtype, w.data, w.strides[1], item.rows, x, x_stride, count, k,
                   a.y, y_stride);
    i += count;
  }
}

void multiply_many_columns(const Call& call, const ExpertPairs& pairs, const ExpertItem& item,
                           float* scratch) {
  const TensorArg& x = call.sources[1];
  float* tile = scratch + kTileScratch;
  for (std::int64_t done = 0; done < item.columns; done += kTileColumns) {
    const std::int64_t columns = std::min(kTileColumns, item.columns - done);
    const auto column = [&](std::int64_t c) {
      return pairs.column(call, item.first + done + c, item.row);
    };
    multiply_tile(
        call.level(), item.rows, columns, item.w.sizes[0],
        [&](std::int64_t r, std::int64_t first, std::int64_t count, float* to) {
          read_f32(item.w, item.w.row(r), first, count, to);
        },
        [&](std::int64_t c, std::int64_t first, std::int64_t count, float* to) {
          read_f32(x, column(c).x, first, count, to);
        },
        tile, kTileRows, scratch);
    for (std::int64_t c = 0; c < columns; ++c) {
      std::copy_n(tile + c * kTileRows, item.rows, column(c).y);
    }
  }
}

/// Columns of a tile that is multiplied as integers: enough that decoding rows once more for the
/// next ones costs a tenth.
constexpr std::int64_t kIntegerColumns = 32 * simd::kManyColumns;
static_assert(kTileRows == simd::kInt8Rows);

void multiply_integers(const Call& call, const ExpertPairs& pairs, const ExpertColumns& rounded,
                       const ExpertItem& item, std::byte* scratch) {
  const TensorArg& w = item.w;
  const std::byte* x = rounded.of_expert(item.expert);
  float* tile = reinterpret_cast<float*>(scratch + kRoundedScratch);
  const auto copy_out = [&](std::int64_t first, std::int64_t columns) {
    for (std::int64_t c = 0; c < columns; ++c) {
      std::copy_n(tile + c * kTileRows, item.rows,
                  pairs.column(call, item.first + first + c, item.row).y);
    }
  };
  if (rounded.is_few(item.columns)) {
    simd::multiply_few(w.level, w.dtype, w.data, w.strides[1], item.rows, x, item.columns,
                       w.sizes[0], tile, kTileRows);
    return copy_out(0, item.columns);
  }
  for (std::int64_t first = 0; first < item.columns; first += kIntegerColumns) {
    const std::int64_t columns = std::min(kIntegerColumns, item.columns - first);
    multiply_rounded(w, item.rows, rounded.many, x, first, columns, tile, kTileRows, scratch,
                     false);
    copy_out(first, columns);
  }
}

enum Phase : std::uint8_t { kSort, kRound, kMultiply };

/// Whether weights are multiplied as integers.
bool as_integers(const Call& call) {
  const TensorArg& w = call.sources[0];
  return has_plain_rows(w) && !simd::is_float_weight(w.dtype) &&
         simd::has_codes(call.level(), w.dtype);
}

bool as_integers(const NodeView& node, const CpuTarget& target) {
  const Tensor& w = node.source(0);
  return w.stride(0) == static_cast<std::int64_t>(trait(w.dtype).block_bytes) &&
         !simd::is_float_weight(w.dtype) && simd::has_codes(target.level, w.dtype);
}

class MatmulId final : public AnyCaseKernel {
 public:
  const Op& op() const override { return matmul_id_op(); }
  int phases() const override { return 3; }
  bool streams(std::size_t source) const override { return source == 0; }
  std::int64_t items(const Call& call, int phase) const override {
    const Sizes& ids = call.sources[2].sizes;
    const std::int64_t pairs = ids[0] * ids[1];
    if (pairs == 0) return 0;
    if (phase == kSort) return 1;
    if (phase == kRound) return as_integers(call) ? pairs : 0;
    return ceil_div(call.result.sizes[0], kTileRows) * call.sources[0].sizes[2];
  }
  std::int64_t grain(const Call& call, int phase) const override {
    constexpr std::int64_t kWorthRounding = 2048;  // elements
    if (phase != kRound) return 1;
    return std::max<std::int64_t>(
        1, kWorthRounding / std::max<std::int64_t>(1, call.sources[0].sizes[0]));
  }
  std::size_t scratch(const NodeView& node, const CpuTarget& target) const override {
    const Tensor& w = node.source(0);
    const std::int64_t pairs = element_count(node.source(2).shape);
    if (!as_integers(node, target)) return ExpertPairs::bytes(w.size(2), pairs);
    return ExpertColumns::bytes(w.size(0), w.size(2), pairs, target.level, w.dtype,
                                target.batch_invariant);
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget& target) const override {
    const auto floats = [](std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); };
    const std::int64_t k = node.source(0).size(0);
    if (as_integers(node, target)) {
      return std::max(
          static_cast<std::size_t>(kRoundedScratch) + floats(kTileRows * kIntegerColumns),
          floats(ExpertColumns::rounding_floats(k)));
    }
    return std::max(floats(kTileScratch + kTileRows * kTileColumns),
                    kTwo * view_f32_bytes(node.source(1), k));
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const ExpertPairs pairs(call);
    if (phase == kSort) {
      const Fault fault = pairs.sort(call.sources[2]);
      if (as_integers(call)) ExpertColumns::of(call).place(pairs);
      return fault;
    }
    if (phase == kRound) {
      const ExpertColumns columns = ExpertColumns::of(call);
      for (std::int64_t i = begin; i < end; ++i) columns.round(call, pairs, i, as_f32(scratch));
      return Fault::kNone;
    }
    for (std::int64_t i = begin; i < end; ++i) multiply_item(call, pairs, i, scratch);
    return Fault::kNone;
  }

 private:
  static void multiply_item(const Call& call, const ExpertPairs& pairs, std::int64_t number,
                            std::byte* scratch) {
    const TensorArg& w = call.sources[0];
    // Experts alternate, so that threads share the work of the few that are chosen.
    const std::int64_t expert = number % pairs.experts;
    ExpertItem item{.w = w, .expert = expert, .row = number / pairs.experts * kTileRows};
    item.w.data = w.row(item.row, expert);
    item.rows = std::min(kTileRows, w.sizes[1] - item.row);
    item.first = pairs.start[expert];
    item.columns = pairs.count(expert);
    if (item.columns == 0) return;
    if (as_integers(call)) {
      return multiply_integers(call, pairs, ExpertColumns::of(call), item, scratch);
    }
    const bool few = !call.batch_invariant && item.columns <= kFewExpertColumns;
    if (has_plain_rows(w) && few) {
      multiply_few_columns(call, pairs, item, as_f32(scratch));
    } else {
      multiply_many_columns(call, pairs, item, as_f32(scratch));
    }
  }
};

}  // namespace

KernelList matmul_id_kernels() {
  return list_kernels<CpuKernel, MatmulId>();
}

}  // namespace shunt::cpu
