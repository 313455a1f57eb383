// Products of matrices: y = x * transposed w, for the machine a product of (m, k) and (k, n).
// Weights are transposed once, where they lie (weight_sticks.h); other left operands for each
// product.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/zdnn/kernel.h"
#include "ops/matrix/matrix.h"

namespace shunt::zdnn {

namespace {

/// Where a product is cut: rows of x that are taken at once, and the same of plain w.
constexpr std::int64_t kRows = 256;
constexpr std::int64_t kMostK = 4096;
constexpr std::int64_t kMostN = 8192;

Grid cut_grid(const Machine& machine, std::int64_t k, std::int64_t n) {
  return {k, n, std::min({k, kMostK, machine.max_dim(1), machine.max_dim(2)}),
          std::min({n, kMostN, machine.max_dim(1)})};
}

bool is_weight_here(const NodeView& view) {
  const BufferType* const memory = view.source_memory(0);
  return memory != nullptr && !memory->host_accessible();
}

Grid grid_at_most(const NodeView& view, const Machine& machine) {
  const std::int64_t k = view.source(0).size(0);
  const std::int64_t n = view.source(0).size(1);
  return is_weight_here(view) ? grid_of(machine, k, n) : cut_grid(machine, k, n);
}

std::int64_t rows_at_once(const Machine& machine, std::int64_t m) {
  return std::min({m, kRows, machine.max_dim(2)});
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
  std::vector<Dims> temporaries(const NodeView& view, const Machine& machine) const override {
    const std::int64_t k = view.source(0).size(0);
    if (whole(view, machine)) {
      if (is_weight_here(view)) return {};
      return {{1, k, view.source(0).size(1)}};
    }
    const Grid grid = grid_at_most(view, machine);
    const std::int64_t rows = rows_at_once(machine, view.source(1).size(1));
    std::vector<Dims> dims = {{1, rows, grid.piece_k}, {1, rows, grid.piece_n}};
    if (!is_weight_here(view)) dims.push_back({1, grid.piece_k, grid.piece_n});
    return dims;
  }
  std::size_t staging(const NodeView& view, const Machine& machine) const override {
    if (whole(view, machine)) {
      return is_weight_here(view) ? 0 : transpose_bytes(view.source(0).size(0));
    }
    const Grid grid = grid_at_most(view, machine);
    const std::int64_t rows = rows_at_once(machine, view.source(1).size(1));
    return static_cast<std::size_t>(2 * rows * grid.piece_n + rows * grid.piece_k) * sizeof(float) +
           transpose_bytes(grid.piece_k);
  }

  void run(Launch& l) const override {
    if (l.result != nullptr) {
      run_whole(l);
    } else {
      Cut(l).run();
    }
  }

  /// w, x and y; sums in between are wider. With 8-bit blocks of x, which the op allows where w is
  /// quantised, it would be more.
  double roundings(const NodeView&, const Machine&) const override { return 2; }

 private:
  /// Whether the machine takes all of each operand at once.
  static bool whole(const NodeView& view, const Machine& machine) {
    const Sizes w = max_sizes(view.source(0).shape);
    return grid_of(machine, w[0], w[1]).whole() &&
           too_large(machine, max_dims(view.source(1))).empty() &&
           too_large(machine, max_dims(view.result())).empty();
  }

  static void run_whole(Launch& l) {
    const Stick& x = *l.sources[1].stick;
    const Ztensor* const row = l.sources[kAddedRow].stick != nullptr
                                   ? l.sources[kAddedRow].stick->get()
                                   : l.constant({1, 1, l.sizes[0]}, 0);
    if (row == nullptr) return;
    if (const WeightSticks* const weight = l.sources[0].weight) {
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
  /// sums are taken in pieces, and put together in F32.
  class Cut {
   public:
    explicit Cut(Launch& l)
        : l_(l),
          weight_(l.sources[0].weight),
          grid_(weight_ != nullptr ? weight_->grid()
                                   : cut_grid(l.machine(), l.sources[0].host.sizes[0],
                                              l.sources[0].host.sizes[1])),
          rows_(rows_at_once(l.machine(), l.sources[1].sizes[1])),
          sum_(reinterpret_cast<float*>(l.staging)),
          part_(sum_ + rows_ * grid_.piece_n),
          x_(part_ + rows_ * grid_.piece_n),
          work_(reinterpret_cast<std::byte*>(x_ + rows_ * grid_.piece_k)) {}

    void run() {
      const Sizes& y = l_.sizes;
      for (std::int64_t i3 = 0; i3 < y[3]; ++i3) {
        for (std::int64_t i2 = 0; i2 < y[2]; ++i2) {
          for (std::int64_t row = 0; row < y[1]; row += rows_) {
            for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
              const std::int64_t rows = std::min(rows_, y[1] - row);
              if (!columns(i2, i3, row, rows, j)) return;
              put(i2, i3, row, rows, j);
            }
          }
        }
      }
    }

   private:
    /// The sums of a piece of y.
    bool columns(std::int64_t i2, std::int64_t i3, std::int64_t row, std::int64_t rows,
                 std::int64_t j) {
      const std::int64_t n = grid_.dims(0, j).dim1;
      for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
        const Dims dims = grid_.dims(i, j);
        Stick& x = l_.temporary(0, {1, rows, dims.dim2});
        Stick& y = l_.temporary(1, {1, rows, n});
        gather_x(i2, i3, row, rows, i * grid_.piece_k, dims.dim2);
        if (!l_.to_machine(x_, x)) return false;
        const Stick* const w = find_w(i2, i3, i, j);
        if (w == nullptr || !l_.product(x, w->get(), 0.0F, y)) return false;
        if (!l_.to_host(y, i == 0 ? sum_ : part_)) return false;
        if (i == 0) continue;
        for (std::int64_t e = 0; e < rows * n; ++e) sum_[e] += part_[e];
      }
      return true;
    }

    void gather_x(std::int64_t i2, std::int64_t i3, std::int64_t row, std::int64_t rows,
                  std::int64_t begin, std::int64_t k) const {
      const HostTensor& x = l_.sources[1].host;
      const Sizes& y = l_.sizes;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::byte* const from =
            x.row(row + r, i2 / (y[2] / x.sizes[2]), i3 / (y[3] / x.sizes[3]));
        read_floats(x, from, begin, k, x_ + r * k);
      }
    }

    const Stick* find_w(std::int64_t i2, std::int64_t i3, std::int64_t i, std::int64_t j) {
      if (weight_ != nullptr) return &weight_->piece(i, j);
      const HostTensor& w = l_.sources[0].host;
      const Dims dims = grid_.dims(i, j);
      Stick& to = l_.temporary(2, dims);
      to.get()->is_transformed = true;
      const Sizes& y = l_.sizes;
      const bool done =
          l_.call("zdnn_transform_ztensor",
                  stickify_transposed(l_.zdnn(), w, i2 / (y[2] / w.sizes[2]),
                                      i3 / (y[3] / w.sizes[3]), j * grid_.piece_n, dims.dim1,
                                      i * grid_.piece_k, dims.dim2, work_, to.buffer()));
      return done ? &to : nullptr;
    }

    void put(std::int64_t i2, std::int64_t i3, std::int64_t row, std::int64_t rows,
             std::int64_t j) const {
      const HostTensor& y = l_.host_result;
      const std::int64_t n = grid_.dims(0, j).dim1;
      for (std::int64_t r = 0; r < rows; ++r) {
        std::byte* const to = y.data + (row + r) * y.strides[1] + i2 * y.strides[2] +
                              i3 * y.strides[3] +
                              j * grid_.piece_n * static_cast<std::int64_t>(sizeof(float));
        std::memcpy(to, sum_ + r * n, static_cast<std::size_t>(n) * sizeof(float));
      }
    }

    Launch& l_;
    const WeightSticks* weight_;
    Grid grid_;
    std::int64_t rows_;
    float* sum_;
    float* part_;
    float* x_;
    std::byte* work_;
  };
};

}  // namespace

KernelList matmul_kernels() {
  static const Matmul kMatmul;
  static const std::array<const ZdnnKernel*, 1> kKernels = {&kMatmul};
  return kKernels;
}

}  // namespace shunt::zdnn
