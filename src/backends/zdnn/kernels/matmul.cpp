// Products of matrices: y = x * transposed w, for the machine a product of (m, k) and (k, n).
// Weights are transposed once, where they lie (weight_sticks.h); other left operands for each
// product.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/zdnn/kernel.h"
#include "backends/zdnn/weight_memory.h"
#include "ops/matrix/matrix.h"

namespace shunt::zdnn {

namespace {

/// Where a product is cut: rows of x that are taken at once; more if w is plain, which comes into
/// the layout for each block of them.
constexpr std::int64_t kRows = 256;
constexpr std::int64_t kRowsOfPlain = 1024;
/// The same of plain w.
constexpr std::int64_t kMostK = 4096;
constexpr std::int64_t kMostN = 8192;

/// The largest element of x that 8 bits are meant for, in root mean squares of all of them.
constexpr double kCrest = 32;

Grid cut_grid(const Machine& machine, std::int64_t k, std::int64_t n) {
  return {k, n, std::min({k, kMostK, machine.max_dim(1), machine.max_dim(2)}),
          std::min({n, kMostN, machine.max_dim(1)})};
}

const WeightMemory* weight_memory(const NodeView& view) {
  return as_weight_memory(view.source_memory(0));
}

bool has_int8_weight(const NodeView& view) {
  const WeightMemory* const memory = weight_memory(view);
  return memory != nullptr && memory->form() == WeightForm::kInt8;
}

Grid grid_at_most(const NodeView& view, const Machine& machine) {
  const std::int64_t k = view.source(0).size(0);
  const std::int64_t n = view.source(0).size(1);
  if (has_int8_weight(view)) return int8_grid_of(machine, k, n);
  return weight_memory(view) != nullptr ? grid_of(machine, k, n) : cut_grid(machine, k, n);
}

std::int64_t rows_at_once(const Machine& machine, std::int64_t m, bool weight_is_here) {
  return std::min({m, weight_is_here ? kRows : kRowsOfPlain, machine.max_dim(2)});
}

/// Floats between the host's memory and the machine's: a piece of x, or one of y.
std::int64_t moved_at_once(const Grid& grid, std::int64_t rows) {
  return rows * std::max(grid.piece_k, grid.piece_n);
}

class Matmul final : public ZdnnKernel {
 public:
  const Op& op() const override { return matmul_op(); }

  Support supports_on(const NodeView& view, const Machine& machine) const override {
    for (const Feature feature : {Feature::kMatmul, Feature::kMatmulShared}) {
      if (!machine.has(feature)) {
        return Support::no(Refusal::kVendorFunction, machine.why_not(feature));
      }
    }
    if (trait(view.source(0).dtype).decode != nullptr) return Support::yes();
    return Support::no(Refusal::kType, fmt::format("w is {}", to_string(view.source(0).dtype)));
  }
  bool takes_weight(const NodeView& view, std::size_t source) const override {
    return source == 0 && !WeightSticks::is_row(view.source(0));
  }
  bool adds_row(const NodeView& view, const Machine& machine) const override {
    return whole(view, machine);
  }
  bool reads_plain(const NodeView& view, const Machine& machine,
                   std::size_t source) const override {
    return source == 0 || !whole(view, machine);
  }
  bool gives_plain(const NodeView& view, const Machine& machine) const override {
    return !whole(view, machine);
  }
  /// Of a product that is cut: a block of rows of x in as many pieces as sums have; a piece of y,
  /// with a second one to add to it and a third for their sum; and one of w, if that is plain.
  std::vector<Dims> temporaries(const NodeView& view, const Machine& machine) const override {
    const std::int64_t k = view.source(0).size(0);
    const bool weight_is_here = weight_memory(view) != nullptr;
    if (whole(view, machine)) {
      if (weight_is_here) return {};
      return {{1, k, view.source(0).size(1)}};
    }
    const Grid grid = grid_at_most(view, machine);
    const std::int64_t rows = rows_at_once(machine, view.source(1).size(1), weight_is_here);
    std::vector<Dims> dims(kYPieces, {1, rows, grid.piece_n});
    if (grid.count_k() == 1) dims[kAdded] = dims[kSum] = kNone;
    dims.push_back(weight_is_here ? kNone : Dims{1, grid.piece_k, grid.piece_n});
    dims.insert(dims.end(), static_cast<std::size_t>(grid.count_k()), {1, rows, grid.piece_k});
    return dims;
  }
  std::size_t staging(const NodeView& view, const Machine& machine) const override {
    const std::int64_t k = view.source(0).size(0);
    const bool weight_is_here = weight_memory(view) != nullptr;
    if (whole(view, machine)) return weight_is_here ? 0 : transpose_bytes(k);
    const Grid grid = grid_at_most(view, machine);
    const std::int64_t rows = rows_at_once(machine, view.source(1).size(1), weight_is_here);
    return std::max(static_cast<std::size_t>(moved_at_once(grid, rows)) * sizeof(float),
                    weight_is_here ? 0 : transpose_bytes(grid.piece_k));
  }

  void run(Launch& l) const override {
    if (l.result != nullptr) {
      run_whole(l);
    } else {
      Cut(l).run();
    }
  }

  /// w, x and y; sums in between are wider. With 8-bit blocks of x, which the op allows where w
  /// is quantised, it would be more. Where sums are cut each piece and each sum of two is rounded.
  double roundings(const NodeView& view, const Machine& machine) const override {
    if (whole(view, machine)) return 2;
    return 2 + static_cast<double>(grid_at_most(view, machine).count_k() - 1) / 3;
  }
  /// Of x alone: steps of 1/127 of the largest element, and errors spread evenly over one.
  double int8_error() const override {
    constexpr double kStep = kCrest / 127;
    return kStep * kStep / 12;
  }

 private:
  /// Temporaries of a product that is cut.
  static constexpr std::size_t kProduct = 0;
  static constexpr std::size_t kAdded = 1;
  static constexpr std::size_t kSum = 2;
  static constexpr std::size_t kYPieces = 3;
  static constexpr std::size_t kWeight = kYPieces;
  static constexpr std::size_t kX = kWeight + 1;  ///< the first of as many as sums have
  static constexpr Dims kNone = {0, 0, 0};

  /// Whether the machine takes all of x and y at once, and all of w or its columns one after the
  /// other.
  static bool whole(const NodeView& view, const Machine& machine) {
    const Sizes w = max_sizes(view.source(0).shape);
    const bool takes_w = has_int8_weight(view) ? int8_grid_of(machine, w[0], w[1]).count_k() == 1
                                               : grid_of(machine, w[0], w[1]).whole();
    return takes_w && too_large(machine, max_dims(view.source(1))).empty() &&
           too_large(machine, max_dims(view.result())).empty();
  }

  /// Columns of y come into their places: each piece of w has its scale, and each matrix of x.
  static void run_int8(Launch& l, const WeightSticks& weight) {
    const Grid& grid = weight.grid();
    const Stick* const row = l.sources[kAddedRow].stick;
    for (std::int64_t slice = 0; slice < l.result->dims().dim4; ++slice) {
      Stick x;
      Stick y;
      l.sources[1].stick->slice(l.zdnn(), slice, x);
      l.result->slice(l.zdnn(), slice, y);
      if (!l.quantize(x)) return;
      for (std::int64_t j = 0; j < grid.count_n(); ++j) {
        const std::int64_t n = grid.dims(0, j).dim1;
        Stick columns;
        Stick added;
        y.columns(l.zdnn(), j * grid.piece_n, n, columns);
        if (row != nullptr) row->columns(l.zdnn(), j * grid.piece_n, n, added);
        const Ztensor* const c = row != nullptr ? added.get() : l.constant({1, 1, n}, 0);
        if (c == nullptr || !l.quantized_product(x, weight.piece(0, j), c, columns)) return;
      }
    }
    l.result->get()->is_transformed = true;
  }

  static void run_whole(Launch& l) {
    const Stick& x = *l.sources[1].stick;
    const Ztensor* const row = l.sources[kAddedRow].stick != nullptr
                                   ? l.sources[kAddedRow].stick->get()
                                   : l.constant({1, 1, l.sizes[0]}, 0);
    if (row == nullptr) return;
    if (const WeightSticks* const weight = l.sources[0].weight) {
      if (weight->grid().form == WeightForm::kInt8) return run_int8(l, *weight);
      (void)l.product(x, weight->piece(0, 0).get(), row, *l.result);
      return;
    }
    const HostTensor& w = l.sources[0].host;
    Stick& one = l.temporary(0, {1, w.sizes[0], w.sizes[1]});
    if (w.sizes[2] * w.sizes[3] == 1) {
      (void)(transposed(l, 0, 0, one) && l.product(x, one.get(), row, *l.result));
      return;
    }
    const Sizes& xs = l.sources[1].sizes;
    const Sizes& ys = l.sizes;
    std::int64_t now = -1;
    for (std::int64_t i3 = 0; i3 < ys[3]; ++i3) {
      for (std::int64_t i2 = 0; i2 < ys[2]; ++i2) {
        const std::int64_t w2 = i2 / (ys[2] / w.sizes[2]);
        const std::int64_t w3 = i3 / (ys[3] / w.sizes[3]);
        if (w3 * w.sizes[2] + w2 != now && !transposed(l, w2, w3, one)) return;
        now = w3 * w.sizes[2] + w2;
        Stick from;
        Stick to;
        const std::int64_t x2 = i2 / (ys[2] / xs[2]);
        x.slice(l.zdnn(), i3 / (ys[3] / xs[3]) * xs[2] + x2, from);
        l.result->slice(l.zdnn(), i3 * ys[2] + i2, to);
        if (!l.product(from, one.get(), row, to)) return;
      }
    }
    l.result->get()->is_transformed = true;
  }

  /// A matrix of plain w.
  static bool transposed(Launch& l, std::int64_t w2, std::int64_t w3, Stick& to) {
    const HostTensor& w = l.sources[0].host;
    to.get()->is_transformed = true;
    return l.call("zdnn_transform_ztensor",
                  stickify_transposed(l.zdnn(), w, w2, w3, 0, w.sizes[1], 0, w.sizes[0], l.staging,
                                      to.buffer()));
  }

  /// A product of which something is larger than the machine takes: rows of x, columns of y and
  /// sums are taken in pieces. A block of rows of x comes into the layout once, all of it; sums are
  /// put together there, and come out once.
  class Cut {
   public:
    explicit Cut(Launch& l)
        : l_(l),
          weight_(l.sources[0].weight),
          grid_(weight_ != nullptr ? weight_->grid()
                                   : cut_grid(l.machine(), l.sources[0].host.sizes[0],
                                              l.sources[0].host.sizes[1])),
          rows_(rows_at_once(l.machine(), l.sources[1].sizes[1], weight_ != nullptr)),
          moved_(reinterpret_cast<float*>(l.staging)) {}

    void run() {
      const Sizes& y = l_.sizes;
      for (i3_ = 0; i3_ < y[3]; ++i3_) {
        for (i2_ = 0; i2_ < y[2]; ++i2_) {
          for (row_ = 0; row_ < y[1]; row_ += rows_) {
            count_ = std::min(rows_, y[1] - row_);
            if (!bring_x()) return;
            for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
              const Stick* const sum = columns(j);
              if (sum == nullptr || !l_.to_host(*sum, moved_)) return;
              put(j);
            }
          }
        }
      }
    }

   private:
    Stick& x(std::int64_t i) { return l_.temporaries[kX + static_cast<std::size_t>(i)]; }
    bool is_int8() const { return grid_.form == WeightForm::kInt8; }

    bool bring_x() {
      const HostTensor& from = l_.sources[1].host;
      const Sizes& y = l_.sizes;
      for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
        const std::int64_t k = grid_.dims(i, 0).dim2;
        for (std::int64_t r = 0; r < count_; ++r) {
          const std::byte* const row =
              from.row(row_ + r, i2_ / (y[2] / from.sizes[2]), i3_ / (y[3] / from.sizes[3]));
          read_floats(from, row, i * grid_.piece_k, k, moved_ + r * k);
        }
        Stick& to = l_.temporary(kX + static_cast<std::size_t>(i), {1, count_, k});
        if (!l_.to_machine(moved_, to) || (is_int8() && !l_.quantize(to))) return false;
      }
      return true;
    }

    /// A piece of y; null: stop.
    const Stick* columns(std::int64_t j) {
      const Dims dims{1, count_, grid_.dims(0, j).dim1};
      std::size_t sum = kProduct;
      for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
        Stick& product = l_.temporary(i == 0 ? sum : kAdded, dims);
        const Stick* const w = find_w(i, j);
        const Ztensor* const zeros = w == nullptr ? nullptr : l_.constant({1, 1, dims.dim1}, 0);
        if (zeros == nullptr) return nullptr;
        if (!(is_int8() ? l_.quantized_product(x(i), *w, zeros, product)
                        : l_.product(x(i), w->get(), zeros, product))) {
          return nullptr;
        }
        if (i == 0) continue;
        const std::size_t next = sum == kProduct ? kSum : kProduct;
        if (!l_.add(l_.temporaries[sum], product, l_.temporary(next, dims))) return nullptr;
        sum = next;
      }
      return &l_.temporaries[sum];
    }

    const Stick* find_w(std::int64_t i, std::int64_t j) {
      if (weight_ != nullptr) return &weight_->piece(i, j);
      const HostTensor& w = l_.sources[0].host;
      const Dims dims = grid_.dims(i, j);
      Stick& to = l_.temporary(kWeight, dims);
      to.get()->is_transformed = true;
      const Sizes& y = l_.sizes;
      const std::int64_t w2 = i2_ / (y[2] / w.sizes[2]);
      const std::int64_t w3 = i3_ / (y[3] / w.sizes[3]);
      const std::array<std::int64_t, 4> piece = {w3, w2, j, i};
      if (piece == held_) return &to;
      held_ = piece;
      const bool done =
          l_.call("zdnn_transform_ztensor",
                  stickify_transposed(l_.zdnn(), w, w2, w3, j * grid_.piece_n, dims.dim1,
                                      i * grid_.piece_k, dims.dim2, l_.staging, to.buffer()));
      return done ? &to : nullptr;
    }

    void put(std::int64_t j) const {
      const HostTensor& y = l_.host_result;
      const std::int64_t n = grid_.dims(0, j).dim1;
      for (std::int64_t r = 0; r < count_; ++r) {
        std::byte* const to = y.data + (row_ + r) * y.strides[1] + i2_ * y.strides[2] +
                              i3_ * y.strides[3] +
                              j * grid_.piece_n * static_cast<std::int64_t>(sizeof(float));
        std::memcpy(to, moved_ + r * n, static_cast<std::size_t>(n) * sizeof(float));
      }
    }

    Launch& l_;
    const WeightSticks* weight_;
    Grid grid_;
    std::int64_t rows_;
    float* moved_;
    // The block of rows at hand.
    std::int64_t i3_ = 0;
    std::int64_t i2_ = 0;
    std::int64_t row_ = 0;
    std::int64_t count_ = 0;
    std::array<std::int64_t, 4> held_ = {-1};  // the piece of plain w that is in the layout
  };
};

}  // namespace

KernelList matmul_kernels() {
  static const Matmul kMatmul;
  static const std::array<const ZdnnKernel*, 1> kKernels = {&kMatmul};
  return kKernels;
}

}  // namespace shunt::zdnn
