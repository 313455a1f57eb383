#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/kernels/tile.h"
#include "shunt/ops/matrix.h"

// A column of the result is a pair of a token and one of its experts. The first phase sorts pairs
// by expert. An item of the second is some rows of one expert's matrix, which it multiplies with
// all columns of that expert. So weights are read from memory once.

namespace shunt::cpu {

namespace {

/// Up to this number of columns of an expert, weights are decoded in registers, as for matmul.
constexpr std::int64_t kFewExpertColumns = 4;
/// Columns that are taken at once there: any two are some stride apart.
constexpr std::int64_t kTwo = 2;

/// A column of x and of the result.
struct Column {
  std::byte* x = nullptr;
  float* y = nullptr;
};

/// The pairs in scratch, sorted: those of expert e are order[start[e]] to order[start[e + 1] - 1].
struct Pairs {
  std::int64_t experts = 0;
  std::int64_t* start = nullptr;
  std::int64_t* order = nullptr;

  explicit Pairs(const Call& call)
      : experts(call.sources[0].sizes[2]),
        start(reinterpret_cast<std::int64_t*>(call.scratch)),
        order(start + experts + 1) {}

  static std::size_t bytes(std::int64_t experts, std::int64_t pairs) {
    return static_cast<std::size_t>(experts + 1 + pairs) * sizeof(std::int64_t);
  }

  /// Sorts by counting. Pairs whose expert there is not are left out, which is a fault.
  Fault sort(const TensorArg& ids) const {
    const std::int64_t used = ids.sizes[0];
    const std::int64_t count = used * ids.sizes[1];
    Fault fault = Fault::kNone;
    const auto expert_of = [&](std::int64_t pair) {
      const std::int64_t id = integer_at(ids, pair % used, pair / used);
      if (id >= 0 && id < experts) return id;
      fault = Fault::kIndexOutOfRange;
      return std::int64_t{-1};
    };
    std::fill_n(start, experts + 1, 0);
    for (std::int64_t pair = 0; pair < count; ++pair) {
      if (const std::int64_t e = expert_of(pair); e >= 0) ++start[e + 1];
    }
    for (std::int64_t e = 0; e < experts; ++e) start[e + 1] += start[e];
    for (std::int64_t pair = 0; pair < count; ++pair) {
      if (const std::int64_t e = expert_of(pair); e >= 0) order[start[e]++] = pair;
    }
    // Each start has become the next one's.
    for (std::int64_t e = experts; e > 0; --e) start[e] = start[e - 1];
    start[0] = 0;
    return fault;
  }

  /// Column i of those in order, at row `row` of the result.
  Column column(const Call& call, std::int64_t i, std::int64_t row) const {
    const TensorArg& x = call.sources[1];
    const std::int64_t used = call.sources[2].sizes[0];
    const std::int64_t u = order[i] % used;
    const std::int64_t t = order[i] / used;
    return {x.row(x.sizes[1] == 1 ? 0 : u, t), as_f32(call.result.row(u, t)) + row};
  }
};

/// Rows of one expert and its columns.
struct Item {
  TensorArg w;  ///< from its first row on
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t first = 0;  ///< column, in the order of the pairs
  std::int64_t columns = 0;
};

/// `scratch` has room for columns that can't be viewed as F32 in place.
void multiply_few_columns(const Call& call, const Pairs& pairs, const Item& item, float* scratch) {
  const TensorArg& w = item.w;
  const std::int64_t k = w.sizes[0];
  const auto read = [&](const Column& column, float* room) {
    return view_f32(call.sources[1], column.x, 0, k, room);
  };
  for (std::int64_t i = 0; i < item.columns;) {
    const Column a = pairs.column(call, item.first + i, item.row);
    Column b = a;
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

void multiply_many_columns(const Call& call, const Pairs& pairs, const Item& item, float* scratch) {
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

class MatmulId final : public AnyCaseKernel {
 public:
  const Op& op() const override { return matmul_id_op(); }
  int phases() const override { return 2; }
  bool streams(std::size_t source) const override { return source == 0; }
  std::int64_t items(const Call& call, int phase) const override {
    if (phase == 0) return 1;
    return ceil_div(call.result.sizes[0], kTileRows) * call.sources[0].sizes[2];
  }
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    return Pairs::bytes(node.source(0).size(2), element_count(node.source(2).shape));
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    const std::size_t tile =
        static_cast<std::size_t>(kTileScratch + kTileRows * kTileColumns) * sizeof(float);
    return std::max(tile, kTwo * view_f32_bytes(node.source(1), node.source(0).size(0)));
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const Pairs pairs(call);
    if (phase == 0) return pairs.sort(call.sources[2]);
    const TensorArg& w = call.sources[0];
    for (std::int64_t i = begin; i < end; ++i) {
      // Experts alternate, so that threads share the work of the few that are chosen.
      const std::int64_t expert = i % pairs.experts;
      Item item{.w = w, .row = i / pairs.experts * kTileRows};
      item.w.data = w.row(item.row, expert);
      item.rows = std::min(kTileRows, w.sizes[1] - item.row);
      item.first = pairs.start[expert];
      item.columns = pairs.start[expert + 1] - item.first;
      const bool few = !call.batch_invariant && item.columns <= kFewExpertColumns;
      if (has_plain_rows(w) && few) {
        multiply_few_columns(call, pairs, item, as_f32(scratch));
      } else {
        multiply_many_columns(call, pairs, item, as_f32(scratch));
      }
    }
    return Fault::kNone;
  }
};

}  // namespace

KernelList matmul_id_kernels() {
  return list_kernels<CpuKernel, MatmulId>();
}

}  // namespace shunt::cpu
