#include <algorithm>

#include "backends/blas/kernel.h"
#include "base/ceil_div.h"
#include "ops/matrix/matrix.h"

namespace shunt::blas {

namespace {

/// A column of the result is a pair of a token and one of its experts. An item is some rows of one
/// expert's matrix, multiplied by all gathered columns of that expert.
class MatmulId final : public BlasKernel {
 public:
  const Op& op() const override { return matmul_id_op(); }
  Status launch(const NodeCall& call, Context& context) const override {
    const HostTensor& w = call.sources[0];
    const HostTensor& ids = call.sources[2];
    const std::int64_t pairs = ids.sizes[0] * ids.sizes[1];
    const std::int64_t experts = w.sizes[2];
    const auto expert_of = [&](std::int64_t pair) {
      return integer_at(ids, pair % ids.sizes[0], pair / ids.sizes[0]);
    };
    for (std::int64_t pair = 0; pair < pairs; ++pair)
      if (const std::int64_t expert = expert_of(pair); expert < 0 || expert >= experts)
        return invalid("an index is out of range: {}, with {} experts", expert, experts);
    const std::int64_t most_rows = panel_rows(pairs / experts);
    const auto panel = [&](std::int64_t item, std::byte* memory) {
      auto& scratch = *reinterpret_cast<Scratch*>(memory);
      const std::int64_t expert = item % experts;
      const std::int64_t row = item / experts * most_rows;
      Library::Sizes sizes = {std::min(most_rows, w.sizes[1] - row), 0, 0};
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        if (expert_of(pair) == expert) scratch.columns[sizes.n++] = pair;
        if (sizes.n < kPanelColumns && pair + 1 < pairs) continue;
        if (sizes.n > 0) multiply_columns(call, *context.library, expert, row, sizes, scratch);
        sizes.n = 0;
      }
    };
    return for_each_item(*context.threads->pool, experts * ceil_div(w.sizes[1], most_rows), panel,
                         call.threads);
  }

 private:
  /// From `row` on, the rows of an expert times the columns in scratch.
  static void multiply_columns(const NodeCall& call, const Library& library, std::int64_t expert,
                               std::int64_t row, Library::Sizes sizes, Scratch& scratch) {
    const HostTensor& w = call.sources[0];
    const HostTensor& x = call.sources[1];
    const std::int64_t used = call.result.sizes[1];
    std::fill_n(scratch.y, sizes.m * sizes.n, 0.0F);
    for (std::int64_t k = 0; k < w.sizes[0]; k += kPanelDepth) {
      sizes.k = std::min(kPanelDepth, w.sizes[0] - k);
      for (std::int64_t c = 0; c < sizes.n; ++c) {
        const std::int64_t pair = scratch.columns[c];
        const std::byte* const column = x.row(x.sizes[1] == 1 ? 0 : pair % used, pair / used, 0);
        read_floats(x, column, k, sizes.k, scratch.x + c * sizes.k);
      }
      library.multiply(float_matrix(w, expert, 0, {k, sizes.k, row, sizes.m}, scratch.w),
                       {scratch.x, static_cast<int>(sizes.k), false}, sizes, false, true, scratch.y,
                       sizes.m);
    }
    for (std::int64_t c = 0; c < sizes.n; ++c) {
      const std::int64_t pair = scratch.columns[c];
      std::copy_n(scratch.y + c * sizes.m, sizes.m,
                  call.result.floats(pair % used, pair / used, 0) + row);
    }
  }
};

}  // namespace

KernelList matmul_id_kernels() {
  return list_kernels<BlasKernel, MatmulId>();
}

}  // namespace shunt::blas
