// mma.m8n8k4 of f16, four products at once. Product p has lanes 4p to 4p + 3, the low quad, and
// those 16 above, the high quad.
// Register pairs of A and B: a row of A and a column of B are the outer index, 0 to 7; its upper
// bit picks the quad. Where k runs through a lane's four elements, the lane is the lower bits of
// the outer index; else they change places.
// C and D of f16: a lane has a row of eight. Of f32: element i of lane t of a quad is at row
// (t & 1) + (i & 2), with 4 more in the high quad, and at column (i & 4) + (t & 2) + (i & 1).
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "cuda/instructions/lanes.h"
#include "cuda/instructions/mma.h"
#include "cuda/instructions/mma_steps.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

constexpr unsigned kProducts = 4;
constexpr unsigned kQuadRows = 8, kQuadK = 4;
constexpr unsigned kInputRegisters = 2;

struct QuadPlan {
  bool k_in_lane_a = false, k_in_lane_b = false;  ///< .row of A, .col of B
  bool half_d = false, half_c = false;
};
constexpr unsigned quad_registers(bool half) {
  return half ? 4 : 8;
}

constexpr unsigned quad_lane(unsigned product, unsigned row, unsigned lane) {
  return 4 * product + row / 4 * 16 + lane;
}
/// Element `i` of registers with two f16 each.
float quad_half(Warp& warp, const Arg* registers, unsigned lane, unsigned i) {
  return F16Elements::value(lanes_of<std::uint32_t>(warp, registers[i / 2])[lane] >> i % 2 * 16);
}
/// A[outer][k], or B[k][outer].
float quad_input(Warp& warp, const Arg* registers, bool k_in_lane, unsigned product, unsigned outer,
                 unsigned k) {
  const unsigned lane = quad_lane(product, outer, k_in_lane ? outer % 4 : k);
  return quad_half(warp, registers, lane, k_in_lane ? k : outer % 4);
}

/// The place of C's or D's value at a row and column.
struct QuadPlace {
  unsigned lane, element;
};
constexpr QuadPlace quad_place(bool half, unsigned product, unsigned row, unsigned column) {
  if (half) return {quad_lane(product, row, row % 4), column};
  return {quad_lane(product, row, (row & 1) + (column & 2)),
          (column & 4) + (row & 2) + (column & 1)};
}

struct QuadMatrices {
  alignas(64) float a[kQuadRows * kQuadK];
  alignas(64) float b[kQuadK * kColumns];
  alignas(64) float d[kQuadRows * kColumns];
};

QuadMatrices unpack_quads(Warp& warp, const QuadPlan& plan, const Arg* inputs, const Arg* c,
                          unsigned product) {
  QuadMatrices to;
  for (unsigned outer = 0; outer < kQuadRows; ++outer) {
    for (unsigned k = 0; k < kQuadK; ++k) {
      to.a[outer * kQuadK + k] = quad_input(warp, inputs, plan.k_in_lane_a, product, outer, k);
      to.b[k * kColumns + outer] =
          quad_input(warp, inputs + kInputRegisters, plan.k_in_lane_b, product, outer, k);
    }
    for (unsigned column = 0; column < kColumns; ++column) {
      const QuadPlace at = quad_place(plan.half_c, product, outer, column);
      to.d[outer * kColumns + column] = plan.half_c ? quad_half(warp, c, at.lane, at.element)
                                                    : lanes_of<float>(warp, c[at.element])[at.lane];
    }
  }
  return to;
}

void pack_quads(Warp& warp, const QuadPlan& plan, const Arg* d, unsigned product, const float* from,
                LaneMask active) {
  for (unsigned i = 0; i < kQuadRows * kColumns; ++i) {
    const QuadPlace at = quad_place(plan.half_d, product, i / kColumns, i % kColumns);
    if ((active >> at.lane & 1) == 0) continue;
    if (!plan.half_d) {
      lanes_of<std::uint32_t>(warp, d[at.element])[at.lane] = float_result_bits(from[i]);
      continue;
    }
    std::uint32_t& pair = lanes_of<std::uint32_t>(warp, d[at.element / 2])[at.lane];
    const unsigned shift = at.element % 2 * 16;
    pair = (pair & ~(0xFFFFu << shift)) | std::uint32_t{float_to_half_rn(from[i])} << shift;
  }
}

/// Lanes of one product have no register of another's, so D may be C, A or B.
Next mma_quads(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive_in_order(warp, active)) return Next::kSwitch;
  const auto& plan = *reinterpret_cast<const QuadPlan*>(static_cast<std::intptr_t>(op.immediate));
  const Arg* inputs = op.more + quad_registers(plan.half_d);
  for (unsigned product = 0; product < kProducts; ++product) {
    QuadMatrices matrices = unpack_quads(warp, plan, inputs, inputs + 2 * kInputRegisters, product);
    sum_products(warp, {matrices.a, matrices.b, matrices.d, kQuadRows, kQuadK});
    pack_quads(warp, plan, op.more, product, matrices.d, active);
  }
  return Next::kOn;
}

}  // namespace

bool is_mma_of_quads(const ptx::Instruction& instruction) {
  const auto has = [&](std::string_view modifier) {
    return std::ranges::find(instruction.modifiers, modifier) != instruction.modifiers.end();
  };
  return has("m8n8k4") && has("f16");
}

bool bind_mma_quads(Binder& binder) {
  if (!binder.take("sync") || !binder.take("aligned")) {
    return binder.fail("expected .sync.aligned");
  }
  binder.take("m8n8k4");
  std::array<std::optional<std::size_t>, 4> types;  // of D, A, B, C
  for (auto& type : types) type = binder.take_one_of({"f16", "f32"});
  const auto layout_a = binder.take_one_of({"row", "col"});
  const auto layout_b = binder.take_one_of({"row", "col"});
  if (!layout_a || !layout_b) return binder.fail("expected .row or .col, for A and for B");
  if (!types[0] || types[1] != 0u || types[2] != 0u || !types[3]) {
    return binder.fail("expected a type of D, .f16, .f16 and a type of C");
  }
  const QuadPlan plan{*layout_a == 0, *layout_b == 1, *types[0] == 0, *types[3] == 0};
  if (plan.half_d && !plan.half_c) return binder.fail("no form has results .f16 and .f32");
  if (!binder.expect_operands(4, 4)) return false;

  std::vector<Arg> args;
  const auto result_type = [](bool half) { return half ? ptx::Type::kF16x2 : ptx::Type::kF32; };
  if (!append_fragment(binder, 0, quad_registers(plan.half_d), result_type(plan.half_d), true,
                       &args) ||
      !append_fragment(binder, 1, kInputRegisters, ptx::Type::kF16x2, false, &args) ||
      !append_fragment(binder, 2, kInputRegisters, ptx::Type::kF16x2, false, &args) ||
      !append_fragment(binder, 3, quad_registers(plan.half_c), result_type(plan.half_c), false,
                       &args)) {
    return false;
  }
  const auto kept = std::make_shared<const QuadPlan>(plan);
  binder.own(kept);
  Op& op = binder.emit(mma_quads, OpKind::kTensor, {});
  op.immediate = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(kept.get()));
  binder.more(op, args);
  return binder.finish();
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
