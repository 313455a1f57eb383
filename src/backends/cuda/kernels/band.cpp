// Ops that keep a band of each matrix, or nothing, and make the rest constant.
#include "backends/cuda/kernels/band.h"

#include <array>
#include <limits>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/constant.h"
#include "shunt/ops/data.h"

namespace shunt::cuda {

namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// The band is from diagonal `low` to diagonal `high`. Diagonal 0 is that of the matrix.
struct BandOf {
  std::int64_t low = -kNoLimit;
  std::int64_t high = kNoLimit;
  float rest = 0;
};

BandOf band_of_diag(const NodeView&) {
  return {.low = 0, .high = 0};
}
BandOf band_of_tri(const NodeView& node) {
  const auto& tri = node.params<TriParams>();
  const int first = tri.diagonal ? 0 : 1;
  if (tri.triangle == Triangle::kLower) return {.high = -first};
  return {.low = first};
}
BandOf band_of_seen(const NodeView& node) {
  return {.high = node.params<DiagMaskInfParams>().n_past,
          .rest = -std::numeric_limits<float>::infinity()};
}
BandOf band_of_fill(const NodeView& node) {
  return {.low = 1, .high = 0, .rest = node.params<FillParams>().value};
}

struct BandRow {
  const Op& (*op)();
  BandOf (*band)(const NodeView& node);
  bool of_vector = false;  ///< all rows are the same row of x
};
constexpr std::array kBandRows = {
    BandRow{diag_op, band_of_diag, true}, BandRow{tri_op, band_of_tri},
    BandRow{diag_mask_inf_op, band_of_seen}, BandRow{fill_op, band_of_fill}};

class Band final : public CudaKernel {
 public:
  explicit Band(const BandRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "band"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Tensor& y = node.view().result();
    const BandOf band = row_.band(node.view());
    gpu::BandArgs params = {node.common(), node.source(0), node.result(),
                            band.low,      band.high,      constant_bits(band.rest, y.dtype)};
    if (row_.of_vector) params.x.strides[1] = 0;
    return {{.kernel = "band_" + std::to_string(trait(y.dtype).block_bytes),
             .items = element_count(y.shape),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }

 private:
  const BandRow& row_;
};

}  // namespace

KernelList band_kernels() {
  static const KernelRows<Band, CudaKernel> kernels(kBandRows);
  return kernels.list();
}

}  // namespace shunt::cuda
