// Ops whose elements are those of their sources in other places.
#include <algorithm>
#include <array>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernels/constant.h"
#include "backends/cuda/kernels/move_plan.h"
#include "shunt/ops/data.h"

namespace shunt::cuda {

namespace {

using MoveLaunches = std::vector<LaunchPlan>;

/// From all places of the result.
gpu::MoveArgs whole_result(const BoundNode& node, gpu::MoveMode mode) {
  gpu::MoveArgs args = move_args(node, 0);
  std::ranges::copy(args.to.y.sizes, args.sizes);
  args.mode = mode;
  return args;
}

/// `before` counts elements.
void set_before(gpu::MoveArgs& args, const Sizes& before, DType type) {
  std::ranges::copy(before, args.before);
  args.before[0] /= trait(type).block_elements;
}

MoveLaunches launches_of_copy(const BoundNode& node) {
  return {move_plan(move_args(node, 0), node.view().result().dtype)};
}

MoveLaunches launches_of_repeat(const BoundNode& node) {
  return {move_plan(whole_result(node, gpu::kMoveCircular), node.view().result().dtype)};
}

MoveLaunches launches_of_roll(const BoundNode& node) {
  const DType type = node.view().result().dtype;
  gpu::MoveArgs args = whole_result(node, gpu::kMoveCircular);
  set_before(args, node.view().params<RollParams>().shift, type);
  return {move_plan(args, type)};
}

MoveLaunches launches_of_pad(const BoundNode& node) {
  const DType type = node.view().result().dtype;
  const auto& pad = node.view().params<PadParams>();
  const bool circular = pad.padding == Padding::kCircular;
  gpu::MoveArgs args = whole_result(node, circular ? gpu::kMoveCircular : gpu::kMoveInside);
  set_before(args, pad.before, type);
  if (!circular) args.constant = constant_bits(pad.value, type);
  return {move_plan(args, type)};
}

MoveLaunches launches_of_reflection(const BoundNode& node) {
  gpu::MoveArgs args = whole_result(node, gpu::kMoveReflected);
  args.before[0] = node.view().params<PadReflectParams>().before;
  return {move_plan(args, node.view().result().dtype)};
}

MoveLaunches launches_of_concat(const BoundNode& node) {
  const DType type = node.view().result().dtype;
  const auto dim = static_cast<std::size_t>(node.view().params<ConcatParams>().dim);
  const gpu::MoveArgs a = move_args(node, 0);
  gpu::MoveArgs b = move_args(node, 1);
  b.to.start[dim] = a.sizes[dim];
  return {move_plan(a, type), move_plan(b, type)};
}

struct MoveRow {
  const Op& (*op)();
  MoveLaunches (*launches)(const BoundNode& node);
};
constexpr std::array kMoveRows = {
    MoveRow{cont_op, launches_of_copy},     MoveRow{dup_op, launches_of_copy},
    MoveRow{repeat_op, launches_of_repeat}, MoveRow{roll_op, launches_of_roll},
    MoveRow{pad_op, launches_of_pad},       MoveRow{pad_reflect_1d_op, launches_of_reflection},
    MoveRow{concat_op, launches_of_concat}};

class Move final : public CudaKernel {
 public:
  explicit Move(const MoveRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "move"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override { return row_.launches(node); }

 private:
  const MoveRow& row_;
};

}  // namespace

KernelList move_kernels() {
  static const KernelRows<Move, CudaKernel> kernels(kMoveRows);
  return kernels.list();
}

}  // namespace shunt::cuda
