#include "backends/cpu/fused/patterns.h"
#include "backends/cpu/kernels/copy.h"
#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/kernels/rope.h"
#include "shunt/ops/rows.h"

namespace shunt::cpu {

namespace {

/// All heads of a token are turned in a worker's scratch, and written into the row that it is for
/// from there. Sources are rope's, and then the numbers of the rows. An item is a token.
class RopeSetRows final : public AnyCaseKernel {
 public:
  const Op& op() const override { return rope_op(); }
  int phases() const override { return rope_kernel().phases(); }
  std::int64_t items(const Call& call, int phase) const override {
    const std::int64_t tokens = call.sources[0].sizes[2];
    return phase == 0 ? rope_kernel().items(as_rope(call), phase) : tokens;
  }
  std::int64_t grain(const Call& call, int phase) const override {
    return phase == 0 ? 1 : grain_for(call.result.sizes[0]);
  }
  std::optional<Staging> staging(const NodeView& rope) const override {
    return rope_kernel().staging(rope);
  }
  std::size_t scratch(const NodeView& rope) const override { return rope_kernel().scratch(rope); }
  std::size_t worker_scratch(const NodeView& rope) const override {
    return std::max(rope_kernel().worker_scratch(rope),
                    row_bytes(rope.source(0).size(0) * rope.source(0).size(1)) +
                        copy_scratch_bytes(kPiece) +
                        view_f32_bytes(rope.source(0), rope.source(0).size(0)));
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    if (phase == 0) return rope_kernel().run(as_rope(call), phase, begin, end, scratch);
    const TensorArg& x = call.sources[0];
    const TensorArg& ids = call.sources[3];
    const std::int64_t size = x.sizes[0];
    const std::int64_t width = size * x.sizes[1];
    TensorArg turned;
    turned.data = scratch;
    turned.strides[0] = sizeof(float);
    std::byte* const room = scratch + row_bytes(width);
    std::byte* const head_room = room + copy_scratch_bytes(kPiece);
    Fault fault = Fault::kNone;
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t id = integer_at(ids, token, 0, 0);
      if (id < 0 || id >= call.result.sizes[1]) {
        fault = Fault::kIndexOutOfRange;
        continue;
      }
      for (std::int64_t head = 0; head < x.sizes[1]; ++head) {
        rotate_head(call, token, view_f32(x, x.row(head, token), 0, size, as_f32(head_room)), size,
                    as_f32(scratch) + head * size);
      }
      for (std::int64_t first = 0; first < width; first += kPiece) {
        copy_piece(turned, turned.data, call.result, call.result.row(id), first,
                   std::min(kPiece, width - first), room);
      }
    }
    return fault;
  }

 private:
  /// In which rope's kernel finds the sizes of its result.
  static Call as_rope(const Call& call) {
    Call rope = call;
    rope.result = call.sources[0];
    return rope;
  }
  static std::size_t row_bytes(std::int64_t width) {
    return static_cast<std::size_t>((width + 15) / 16 * 16) * sizeof(float);
  }
};

}  // namespace

std::optional<Fused> rope_set_rows(const Surroundings& around, NodeId rope) {
  static const RopeSetRows kKernel;
  const Node& node = around.node(rope);
  if (node.op != &rope_op()) return {};
  const NodeId set = around.only_reader(rope, set_rows_op());
  if (set == kNoNode) return {};
  const NodeId rows = around.node(set).sources[1];
  const Tensor& x = node.result;
  const Tensor& flat = around.node(rows).result;
  // A row of what is written is all heads of a token.
  if (around.node(rows).storage != rope || around.node(rows).offset != 0 || !is_contiguous(flat) ||
      flat.shape[1] != x.shape[2] || flat.shape[0].max != x.size(0) * x.size(1) ||
      element_count(flat.shape) != element_count(x.shape) || x.shape[3].max != 1) {
    return {};
  }
  std::vector<NodeId> sources = node.sources;
  sources.resize(3, kNoNode);
  sources.push_back(around.node(set).sources[2]);
  return Fused{
      .kernel = &kKernel, .asked = rope, .last = set, .inside = {rope}, .sources = sources};
}

}  // namespace shunt::cpu
