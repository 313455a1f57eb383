#include <algorithm>

#include "backends/cpu/fused/patterns.h"
#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/simd/gated.h"
#include "shunt/ops/activation.h"
#include "shunt/ops/matrix.h"

namespace shunt::cpu {

namespace {

using Function = void (*)(simd::Level level, const float* gate, const float* up, float* y,
                          std::int64_t n);

/// f(gate x, up x): a tile of the second product waits in a worker's scratch until that of the
/// first is in its place, and still in a cache. Sources are gate, x and up.
class GatedMatmul final : public AnyCaseKernel {
 public:
  explicit GatedMatmul(Function function) : function_(function) {}
  const Op& op() const override { return matmul_op(); }
  int phases() const override { return matmul_kernel().phases(); }
  bool reads_interleaved(std::size_t source) const override { return source != 1; }
  std::int64_t items(const Call& call, int phase) const override {
    return matmul_kernel().items(call, phase);
  }
  std::int64_t grain(const Call& call, int phase) const override {
    const std::int64_t grain = matmul_kernel().grain(call, phase);
    return phase == 0 ? grain : (grain + 1) / 2;
  }
  std::optional<Staging> staging(const NodeView& gate, const CpuTarget& target) const override {
    return matmul_kernel().staging(gate, target);
  }
  std::size_t scratch(const NodeView& gate, const CpuTarget& target) const override {
    return matmul_kernel().scratch(gate, target);
  }
  std::size_t worker_scratch(const NodeView& gate, const CpuTarget& target) const override {
    return own_scratch(gate, target) + matmul_kernel().worker_scratch(gate, target);
  }
  StreamedBytes streamed(const Call& call, int phase, std::int64_t begin,
                         std::int64_t end) const override {
    if (phase == 0) return {};
    const MatmulKernel& matmul = matmul_kernel();
    return {matmul.streamed_rows(call, 2, begin, end), matmul.streamed_rows(call, 0, begin, end)};
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const MatmulKernel& matmul = matmul_kernel();
    if (phase == 0) return matmul.run(call, phase, begin, end, scratch);
    while (begin < end) {
      const MatmulTile gate = matmul.tile(call, begin, end, kMost);
      MatmulTile up = gate;
      up.weight = 2;
      up.y = as_f32(scratch);
      up.y_stride = up.rows;
      std::byte* const rest = scratch + padded_bytes(up.rows * up.columns);
      matmul.multiply(call, up, rest);
      matmul.multiply(call, gate, rest);
      for (std::int64_t c = 0; c < gate.columns; ++c) {
        float* const y = gate.y + c * gate.y_stride;
        function_(call.level(), y, up.y + c * up.y_stride, y, gate.rows);
      }
      begin += gate.items;
    }
    return Fault::kNone;
  }

 private:
  /// Elements of a tile of few columns, which fits an L2 cache.
  static constexpr std::int64_t kMost = 32768;
  static std::size_t padded_bytes(std::int64_t elements) {
    return static_cast<std::size_t>((elements + 15) / 16 * 16) * sizeof(float);
  }
  static std::size_t own_scratch(const NodeView& gate, const CpuTarget& target) {
    return padded_bytes(matmul_kernel().tile_elements(gate, target, kMost));
  }

  Function function_;
};

/// The kernel for a gated unit of two sources, if there is one.
const GatedMatmul* kernel_for(const Op* op) {
  struct Unit {
    const Op& op;
    GatedMatmul kernel;
  };
  static const Unit kUnits[] = {{reglu_op(), GatedMatmul(simd::reglu)},
                                {geglu_op(), GatedMatmul(simd::geglu)},
                                {geglu_quick_op(), GatedMatmul(simd::geglu_quick)},
                                {swiglu_op(), GatedMatmul(simd::swiglu)}};
  const auto found = std::ranges::find_if(kUnits, [&](const Unit& unit) { return &unit.op == op; });
  return found == std::end(kUnits) ? nullptr : &found->kernel;
}

}  // namespace

std::optional<Fused> gated_matmul(const Surroundings& around, NodeId gated,
                                  const CpuTarget& target) {
  const Node& node = around.node(gated);
  const GatedMatmul* kernel = kernel_for(node.op);
  if (kernel == nullptr || node.sources[1] == kNoNode) return {};
  const NodeId gate = node.sources[0];
  const NodeId up = node.sources[1];
  for (const NodeId product : {gate, up}) {
    if (around.only_reader(product, *node.op) != gated) return {};
    if (around.node(product).op != &matmul_op()) return {};
  }
  if (gate == up || around.node(gate).sources[1] != around.node(up).sources[1]) return {};
  const NodeView gate_view(around.graph(), gate, around.segment().memory);
  const NodeView up_view(around.graph(), up, around.segment().memory);
  const Tensor& gate_w = gate_view.source(0);
  const Tensor& up_w = up_view.source(0);
  if (gate_w.shape != up_w.shape || !matmul_kernel().same_form(gate_view, up_view, target)) {
    return {};
  }
  const auto& sources = around.node(gate).sources;
  return Fused{{.asked = gate,
                .last = gated,
                .inside = {gate, up},
                .sources = {sources[0], sources[1], around.node(up).sources[0]}},
               kernel};
}

}  // namespace shunt::cpu
