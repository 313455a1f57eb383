// Products of matrices: y = x * transposed w, for the machine a product of (m, k) and (k, n).
// Weights are transposed once, in their own memory (weight_sticks.h); other left operands by the
// machine (z17), or on their way in.
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
constexpr std::int64_t kRowsAtOnce = 256;
constexpr std::int64_t kRowsOfPlain = 1024;
/// The same of plain w.
constexpr std::int64_t kMostK = 4096;
constexpr std::int64_t kMostN = 8192;

/// Numbers of y that come out at once.
constexpr std::int64_t kMostOut = std::int64_t{1} << 23;

/// The largest element of x that 8 bits are meant for, in root mean squares of all of them.
constexpr double kCrest = 32;

Grid cut_grid(const Machine& machine, std::int64_t k, std::int64_t n) {
  return {{k, n, std::min({k, kMostK, machine.max_dim(1), machine.max_dim(2)}),
           std::min({n, kMostN, machine.max_dim(1)})}};
}

const WeightMemory* weight_memory(const NodeView& view) {
  return as_weight_memory(view.source_memory(0));
}

Grid grid_at_most(const NodeView& view, const Machine& machine) {
  const std::int64_t k = view.source(0).size(0);
  const std::int64_t n = view.source(0).size(1);
  if (has_int8_weight(view)) return int8_grid_of(machine, k, n);
  return weight_memory(view) != nullptr ? grid_of(machine, k, n) : cut_grid(machine, k, n);
}

std::int64_t rows_at_once(const Machine& machine, std::int64_t m, bool weight_is_here) {
  return std::min({m, weight_is_here ? kRowsAtOnce : kRowsOfPlain, machine.max_dim(2)});
}

/// Rows of x that are taken at once, and columns of y that come out at once: whole sticks of them.
/// A run with fewer rows has the columns that the most of them have.
struct Block {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Of `m` rows that are plain a block is as large as rows_at_once() says; of those that are in the
/// layout it is all of them, and fewer columns of y.
Block block_at_most(const KernelUse& use) {
  const Grid grid = grid_at_most(use.view, use.machine);
  const std::int64_t m = use.view.source(1).size(1);
  if (use.forms[1] == SourceForm::kPlain) {
    return {rows_at_once(use.machine, m, weight_memory(use.view) != nullptr), grid.piece_n};
  }
  const std::int64_t most =
      std::max(kMostOut / std::max<std::int64_t>(m, 1) / kStickElements, std::int64_t{1});
  return {m, std::min(grid.piece_n, most * kStickElements)};
}

class Matmul final : public ZdnnKernel {
 public:
  const Op& op() const override { return matmul_op(); }

  bool computes_in_pieces() const override { return true; }
  std::span<const Need> needs(const NodeView&) const override {
    static constexpr Need kNeeds[] = {
        kHas<Feature::kMatmul>,
        kHas<Feature::kMatmulShared>,
        {Refusal::kType, [](const NodeView& view, const Machine&) {
           const DType w = view.source(0).dtype;
           return trait(w).decode != nullptr ? std::string() : fmt::format("w is {}", to_string(w));
         }}};
    return kNeeds;
  }
  bool takes_weight(const NodeView& view, std::size_t source) const override {
    return source == 0 && !WeightSticks::is_row(view.source(0));
  }
  bool adds_row(const NodeView& view, const Machine& machine) const override {
    return whole(view, machine);
  }
  SourceForm form(const NodeView& view, const Machine& machine, std::size_t source,
                  const SourcePlaces& places) const override {
    const bool all = whole(view, machine);
    if (source == 1) {
      return all || too_large(machine, max_dims(view.source(1))).empty() ? SourceForm::kSticks
                                                                         : SourceForm::kPlain;
    }
    if (!all) return SourceForm::kPlain;
    if (places[0] == SourcePlace::kTurned) return SourceForm::kTransposed;
    const Tensor& tensor = view.source(0);
    const Dims w = max_dims(tensor);
    // Others take memory, unless they are transposed.
    const bool comes_cheaply = places[0] == SourcePlace::kInLayout || goes_in_directly(tensor) ||
                               element_count(tensor.shape) <= kTransposedAtOnce;
    if (comes_cheaply && machine.has(Feature::kMatmulTransposed) && too_large(machine, w).empty()) {
      return SourceForm::kSticks;
    }
    return too_large(machine, {w.dim4, w.dim1, w.dim2}).empty() ? SourceForm::kTransposed
                                                                : SourceForm::kPlain;
  }
  bool gives_plain(const NodeView& view, const Machine& machine) const override {
    return !whole(view, machine);
  }
  /// A product that is cut has as many pieces of x as sums have. It has a piece of y, a second one
  /// to add to it, and a third for their sum. If w is plain, there is one piece of w.
  std::vector<Dims> temporaries(const KernelUse& use) const override {
    const bool weight_is_here = weight_memory(use.view) != nullptr;
    const std::int64_t k = use.view.source(0).size(0);
    const std::int64_t n = use.view.source(0).size(1);
    if (whole(use.view, use.machine)) {
      return weight_is_here || use.forms[0] != SourceForm::kPlain ? std::vector<Dims>()
                                                                  : std::vector<Dims>{{1, k, n}};
    }
    const Block most = block_at_most(use);
    std::vector<Dims> dims(kYPieces, {1, most.rows, most.columns});
    const Grid grid = grid_at_most(use.view, use.machine);
    if (grid.count_k() == 1) dims[kAdded] = dims[kSum] = kNoTemporary;
    dims.push_back(weight_is_here ? kNoTemporary : Dims{1, grid.piece_k, grid.piece_n});
    const bool comes_in = use.forms[1] == SourceForm::kPlain;
    dims.insert(dims.end(), static_cast<std::size_t>(grid.count_k()),
                comes_in ? Dims{1, most.rows, grid.piece_k} : kNoTemporary);
    return dims;
  }
  std::size_t staging(const KernelUse& use) const override {
    const bool weight_is_here = weight_memory(use.view) != nullptr;
    if (whole(use.view, use.machine)) {
      const Tensor& weight = use.view.source(0);
      return weight_is_here || use.forms[0] != SourceForm::kPlain
                 ? 0
                 : transpose_bytes(weight.size(0), weight.size(1));
    }
    const Grid grid = grid_at_most(use.view, use.machine);
    const Block most = block_at_most(use);
    const bool comes_in = use.forms[1] == SourceForm::kPlain;
    const std::int64_t moved = most.rows * std::max(most.columns, comes_in ? grid.piece_k : 0);
    return std::max(static_cast<std::size_t>(moved) * sizeof(float),
                    weight_is_here ? 0 : transpose_bytes(grid.piece_k, grid.piece_n));
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
    const auto multiply = [&](std::int64_t, Stick& x, Stick& y) {
      if (!l.quantize(x)) return false;
      for (std::int64_t j = 0; j < grid.count_n(); ++j) {
        const std::int64_t n = grid.size_n(j);
        Stick columns;
        Stick added;
        y.columns(l.zdnn(), j * grid.piece_n, n, columns);
        if (row != nullptr) row->columns(l.zdnn(), j * grid.piece_n, n, added);
        const Ztensor* const c = row != nullptr ? added.get() : l.constant({1, 1, n}, 0);
        if (c == nullptr || !l.quantized_product(x, weight.piece(0, j), c, columns)) return false;
      }
      return true;
    };
    (void)each_matrix(l, *l.sources[1].stick, *l.result, multiply);
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
    const SourceArg& w = l.sources[0];
    if (w.form == SourceForm::kPlain) l.temporary(0, {1, w.sizes[0], w.sizes[1]});
    const bool one = w.sizes[2] * w.sizes[3] == 1;
    if (one && (w.form != SourceForm::kPlain || transposed(l, 0, l.temporaries[0]))) {
      (void)multiply(l, x, w.stick != nullptr ? *w.stick : l.temporaries[0], row, *l.result);
      return;
    }
    if (one) return;
    std::int64_t now = -1;
    const auto multiply_one = [&](std::int64_t i, Stick&, Stick& to) {
      const std::int64_t matrix = grouped_matrix(l.sizes, i, w.sizes);
      Stick of_w;
      if (w.stick != nullptr) {
        w.stick->slice(l.zdnn(), matrix, of_w);
      } else if (matrix != now && !transposed(l, matrix, l.temporaries[0])) {
        return false;
      }
      now = matrix;
      Stick from;
      x.slice(l.zdnn(), grouped_matrix(l.sizes, i, l.sources[1].sizes), from);
      return multiply(l, from, w.stick != nullptr ? of_w : l.temporaries[0], row, to);
    };
    (void)each_matrix(l, *l.result, *l.result, multiply_one);
  }

  /// With matrices of w, transposed or not.
  static bool multiply(Launch& l, const Stick& x, const Stick& w, const Ztensor* row, Stick& to) {
    return l.sources[0].form == SourceForm::kSticks ? l.product_transposed(x, w.get(), row, to)
                                                    : l.product(x, w.get(), row, to);
  }

  /// A matrix of plain w.
  static bool transposed(Launch& l, std::int64_t matrix, Stick& to) {
    const HostTensor& w = l.sources[0].host;
    return l.to_machine_transposed(w, matrix, {0, w.sizes[0], 0, w.sizes[1]}, to);
  }

  /// A product of which something is larger than the machine takes: rows of x, columns of y and
  /// sums are taken in pieces. Each row of x comes into the layout once, if it is not there; sums
  /// are put together there, and come out once.
  class Cut {
   public:
    explicit Cut(Launch& l)
        : l_(l),
          weight_(l.sources[0].weight),
          x_is_plain_(l.sources[1].stick == nullptr),
          grid_(weight_ != nullptr
                    ? weight_->grid()
                    : cut_grid(l.machine(), l.sources[0].sizes[0], l.sources[0].sizes[1])),
          block_({l.rooms[kProduct].dims.dim2, l.rooms[kProduct].dims.dim1}),
          moved_(reinterpret_cast<float*>(l.staging)) {}

    void run() {
      const Sizes& y = l_.sizes;
      for (matrix_ = 0; matrix_ < y[2] * y[3]; ++matrix_) {
        for (row_ = 0; row_ < y[1]; row_ += block_.rows) {
          count_ = std::min(block_.rows, y[1] - row_);
          if (!(x_is_plain_ ? bring_x() : find_x()) || !run_block()) return;
        }
      }
    }

   private:
    Stick& x(std::int64_t i) { return l_.temporaries[kX + static_cast<std::size_t>(i)]; }
    bool is_int8() const { return grid_.form == WeightForm::kInt8; }
    /// The number among matrices of a source of that which belongs to the one of y at hand.
    std::int64_t matrix(const Sizes& of) const { return grouped_matrix(l_.sizes, matrix_, of); }

    bool bring_x() {
      const HostTensor& from = l_.sources[1].host;
      const std::int64_t at = matrix(from.sizes);
      for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
        const std::int64_t k = grid_.size_k(i);
        gather(from, at, {i * grid_.piece_k, k, row_, count_}, moved_);
        Stick& to = l_.temporary(kX + static_cast<std::size_t>(i), {1, count_, k});
        if (!l_.to_machine(moved_, to) || (is_int8() && !l_.quantize(to))) return false;
      }
      return true;
    }

    /// Finds the pieces of x in place.
    bool find_x() {
      Stick all;
      l_.sources[1].stick->slice(l_.zdnn(), matrix(l_.sources[1].sizes), all);
      for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
        all.columns(l_.zdnn(), i * grid_.piece_k, grid_.size_k(i), x(i));
        if (is_int8() && !l_.quantize(x(i))) return false;
      }
      return true;
    }

    bool run_block() {
      for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
        const std::int64_t n = grid_.size_n(j);
        for (std::int64_t first = 0; first < n; first += block_.columns) {
          const std::int64_t count = std::min(block_.columns, n - first);
          const Stick* const sum = columns(j, first, count);
          if (sum == nullptr || !l_.to_host(*sum, moved_)) return false;
          put(j * grid_.piece_n + first, count);
        }
      }
      return true;
    }

    /// Columns of a piece of y; null: stop.
    const Stick* columns(std::int64_t j, std::int64_t first, std::int64_t count) {
      const Dims dims{1, count_, count};
      const Ztensor* const zeros = l_.constant({1, 1, count}, 0);
      if (zeros == nullptr) return nullptr;
      std::size_t sum = kProduct;
      for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
        Stick& product = l_.temporary(i == 0 ? sum : kAdded, dims);
        const Stick* const piece = find_w(i, j);
        if (piece == nullptr) return nullptr;
        Stick w;
        piece->columns(l_.zdnn(), first, count, w);
        if (!(is_int8() ? l_.quantized_product(x(i), w, zeros, product)
                        : l_.product(x(i), w.get(), zeros, product))) {
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
      Stick& to = l_.temporary(kWeight, grid_.dims(i, j));
      to.get()->is_transformed = true;
      const std::array<std::int64_t, 3> piece = {matrix(w.sizes), j, i};
      if (piece == held_) return &to;
      held_ = piece;
      return l_.to_machine_transposed(w, piece[0], grid_.part(i, j), to) ? &to : nullptr;
    }

    void put(std::int64_t column, std::int64_t count) const {
      const HostTensor& y = l_.host_result;
      for (std::int64_t r = 0; r < count_; ++r) {
        float* const to = y.floats(row_ + r, matrix_ % l_.sizes[2], matrix_ / l_.sizes[2]) + column;
        std::memcpy(to, moved_ + r * count, static_cast<std::size_t>(count) * sizeof(float));
      }
    }

    Launch& l_;
    const WeightSticks* weight_;
    bool x_is_plain_;
    Grid grid_;
    Block block_;
    float* moved_;
    // The block of rows at hand.
    std::int64_t matrix_ = 0;
    std::int64_t row_ = 0;
    std::int64_t count_ = 0;
    std::array<std::int64_t, 3> held_ = {-1};  // the piece of plain w that is in the layout
  };
};

}  // namespace

KernelList matmul_kernels() {
  return list_kernels<ZdnnKernel, Matmul>();
}

}  // namespace shunt::zdnn
