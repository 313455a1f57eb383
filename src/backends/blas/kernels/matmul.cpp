#include <algorithm>
#include <array>

#include "backends/blas/kernel.h"
#include "base/ceil_div.h"
#include "ops/matrix/matrix.h"
#include "ops/training/training.h"

namespace shunt::blas {

namespace {

/// matmul, whose sums go along the rows of both sources, and out_prod, where they go down the
/// columns. A source with fewer matrices than the result has them repeated.
class Product final : public BlasKernel {
 public:
  Product(const Op& op, bool k_is_row) : op_(op), k_is_row_(k_is_row) {}
  const Op& op() const override { return op_; }
  Status launch(const NodeCall& call, Context& context) const override {
    const HostTensor& w = call.sources[0];
    const HostTensor& y = call.result;
    const std::int64_t terms = w.sizes[k_is_row_ ? 1 : 0];
    const bool in_place = lies_as_floats(w) && lies_as_floats(call.sources[1]);
    const std::int64_t depth = in_place ? kMaxSize : kPanelDepth;
    const std::int64_t most_rows = k_is_row_ ? kPanelRows : panel_rows(y.sizes[1]);
    const std::int64_t down = ceil_div(y.sizes[0], most_rows);
    const std::int64_t across = ceil_div(y.sizes[1], kPanelColumns);
    const auto panel = [&](std::int64_t item, std::byte* memory) {
      auto& scratch = *reinterpret_cast<Scratch*>(memory);
      const std::int64_t m = item % down * most_rows;
      const std::int64_t n = item / down % across * kPanelColumns;
      const std::array matrix = {item / (down * across) % y.sizes[2],
                                 item / (down * across) / y.sizes[2]};
      Library::Sizes sizes = {std::min(most_rows, y.sizes[0] - m),
                              std::min(kPanelColumns, y.sizes[1] - n), 0};
      float* const to = y.floats(n, matrix[0], matrix[1]) + m;
      const std::int64_t stride = y.strides[1] / std::int64_t{sizeof(float)};
      for (std::int64_t c = 0; terms == 0 && c < sizes.n; ++c)
        std::fill_n(to + c * stride, sizes.m, 0.0F);
      for (std::int64_t k = 0; k < terms; k += depth) {
        sizes.k = std::min(depth, terms - k);
        const auto read = [&](std::size_t s, std::int64_t first, std::int64_t count, float* room) {
          const HostTensor& from = call.sources[s];
          const MatrixPart part = k_is_row_ ? MatrixPart{first, count, k, sizes.k}
                                            : MatrixPart{k, sizes.k, first, count};
          return float_matrix(from, matrix[0] / (y.sizes[2] / from.sizes[2]),
                              matrix[1] / (y.sizes[3] / from.sizes[3]), part, room);
        };
        context.library->multiply(read(0, m, sizes.m, scratch.w), read(1, n, sizes.n, scratch.x),
                                  sizes, k_is_row_, k > 0, to, stride);
      }
    };
    return for_each_item(*context.threads->pool, down * across * y.sizes[2] * y.sizes[3], panel,
                         call.threads);
  }

 private:
  static bool lies_as_floats(const HostTensor& tensor) {
    return float_matrix(tensor, 0, 0, {0, tensor.sizes[0], 0, tensor.sizes[1]}, nullptr).data !=
           nullptr;
  }

  const Op& op_;
  bool k_is_row_;
};

}  // namespace

KernelList matmul_kernels() {
  static const Product kMatmul(matmul_op(), false);
  static const Product kOutProd(out_prod_op(), true);
  static const std::array<const BlasKernel*, 2> kKernels = {&kMatmul, &kOutProd};
  return kKernels;
}

}  // namespace shunt::blas
