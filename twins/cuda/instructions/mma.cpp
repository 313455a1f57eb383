#include "cuda/instructions/mma.h"

#include <cmath>

#include "cuda/instructions/fragments.h"
#include "cuda/instructions/lanes.h"
#include "cuda/instructions/mma_steps.h"
#include "cuda/instructions/sums.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

const MmaPlan& plan_of(const Op& op) {
  return *reinterpret_cast<const MmaPlan*>(static_cast<std::intptr_t>(op.immediate));
}

/// The registers of one instruction, by fragment.
struct MmaRegisters {
  const Arg* d;
  const Arg* a;
  const Arg* b;
  const Arg* c;
  explicit MmaRegisters(const Op& op)
      : d(op.more),
        a(d + plan_of(op).d_registers),
        b(a + plan_of(op).a_registers),
        c(b + plan_of(op).b_registers) {}
};

/// A and B as floats, and room for D.
struct Matrices {
  alignas(64) float a[kMostRows * kMostK];
  alignas(64) float b[kMostK * kColumns];
  alignas(64) float d[kResults];
};

void unpack(Warp& warp, const Op& op, Matrices* to) {
  const MmaPlan& plan = plan_of(op);
  const MmaRegisters registers(op);
  const unsigned columns = 4 * plan.a->elements;
  const unsigned row_groups = plan.rows / kGroups;
  for (unsigned r = 0; r < plan.a_registers; ++r) {
    const unsigned row = kGroups * (r % row_groups);
    const unsigned column = columns * (r / row_groups);
    plan.a->rows(lanes_of<std::uint32_t>(warp, registers.a[r]), to->a + row * plan.k + column,
                 plan.k);
  }
  for (unsigned r = 0; r < plan.b_registers; ++r) {
    plan.b->columns(lanes_of<std::uint32_t>(warp, registers.b[r]),
                    to->b + std::size_t{columns} * r * kColumns);
  }
}

void unpack_c(Warp& warp, const Op& op, Matrices* to) {
  const MmaPlan& plan = plan_of(op);
  const Arg* c = MmaRegisters(op).c;
  for (unsigned rows = 0; rows < plan.rows / kGroups; ++rows) {
    float* at = to->d + std::size_t{rows} * kGroups * kColumns;
    if (op.extra == static_cast<std::uint32_t>(Accumulate::kHalf)) {
      unpack_results(lanes_of<std::uint32_t>(warp, c[rows]), at);
    } else {
      unpack_results(lanes_of<float>(warp, c[2 * rows]), lanes_of<float>(warp, c[2 * rows + 1]),
                     at);
    }
  }
}

void pack_d(Warp& warp, const Op& op, const float* from, LaneMask active) {
  const MmaPlan& plan = plan_of(op);
  const Arg* d = MmaRegisters(op).d;
  for (unsigned rows = 0; rows < plan.rows / kGroups; ++rows) {
    const float* at = from + std::size_t{rows} * kGroups * kColumns;
    if (op.extra == static_cast<std::uint32_t>(Accumulate::kHalf)) {
      each_lane(lanes_of<std::uint32_t>(warp, d[rows]), active, [&](unsigned lane) {
        const std::uint32_t high = float_to_half_rn(at[2 * lane + 1]);
        return high << 16 | float_to_half_rn(at[2 * lane]);
      });
      continue;
    }
    for (unsigned odd = 0; odd < 2; ++odd) {
      each_lane(lanes_of<std::uint32_t>(warp, d[2 * rows + odd]), active,
                [&](unsigned lane) { return float_result_bits(at[2 * lane + odd]); });
    }
  }
}

/// D is written after all of C was read: their registers may be the same, in another order.
constexpr unsigned kMostResults = 4;
template <class T>
Next finish(Warp& warp, const Op& op, const T (*results)[kLanes], LaneMask active) {
  for (unsigned r = 0; r < plan_of(op).d_registers; ++r) {
    each_lane(lanes_of<T>(warp, MmaRegisters(op).d[r]), active,
              [&](unsigned lane) { return results[r][lane]; });
  }
  return Next::kOn;
}

}  // namespace

Next mma_float(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive_in_order(warp, active)) return Next::kSwitch;
  Matrices matrices;
  unpack(warp, op, &matrices);
  unpack_c(warp, op, &matrices);
  sum_products(warp, {matrices.a, matrices.b, matrices.d, plan_of(op).rows, plan_of(op).k});
  pack_d(warp, op, matrices.d, active);
  return Next::kOn;
}

/// Products of integers and their sums are exact in float: 64 * 15 * 15 and 32 * 255 * 255 are
/// below 2^24.
Next mma_integer(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive_in_order(warp, active)) return Next::kSwitch;
  const MmaPlan& plan = plan_of(op);
  Matrices matrices;
  unpack(warp, op, &matrices);
  for (float& value : matrices.d) value = 0;
  sum_single({matrices.a, matrices.b, matrices.d, plan.rows, plan.k});
  std::uint32_t results[kMostResults][kLanes];
  for (unsigned r = 0; r < plan.d_registers; ++r) {
    const float* sums = matrices.d + std::size_t{r / 2} * kGroups * kColumns + r % 2;
    const auto* c = lanes_of<std::int32_t>(warp, MmaRegisters(op).c[r]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const auto sum = static_cast<std::int32_t>(sums[2 * lane]);
      const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(c[lane]) +
                                                     static_cast<std::uint32_t>(sum));
      const bool overflow = ((c[lane] ^ wrapped) & (sum ^ wrapped)) < 0;
      const std::int32_t limit = c[lane] < 0 ? INT32_MIN : INT32_MAX;
      results[r][lane] = static_cast<std::uint32_t>(plan.saturate && overflow ? limit : wrapped);
    }
  }
  return finish(warp, op, results, active);
}

/// Fused multiply-adds in order of k, each rounded to nearest.
Next mma_double(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive_in_order(warp, active)) return Next::kSwitch;
  const MmaPlan& plan = plan_of(op);
  const MmaRegisters registers(op);
  const unsigned row_groups = plan.rows / kGroups;
  double results[kMostResults][kLanes];
  for (unsigned r = 0; r < plan.d_registers; ++r) {
    const auto* c = lanes_of<double>(warp, registers.c[r]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned group = lane / 4 * 4;
      const unsigned column = (lane % 4 * 2 + r % 2) * 4;
      double sum = c[lane];
      for (unsigned i = 0; i < plan.k; ++i) {
        const Arg& a = registers.a[i / 4 * row_groups + r / 2];
        const Arg& b = registers.b[i / 4];
        sum = std::fma(lanes_of<double>(warp, a)[group + i % 4],
                       lanes_of<double>(warp, b)[column + i % 4], sum);
      }
      results[r][lane] = sum;
    }
  }
  return finish(warp, op, results, active);
}

/// Counts of the bits in which a row of A and a column of B differ, or that both have.
Next mma_bits(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive_in_order(warp, active)) return Next::kSwitch;
  const MmaPlan& plan = plan_of(op);
  const MmaRegisters registers(op);
  const unsigned row_groups = plan.rows / kGroups;
  std::uint32_t results[kMostResults][kLanes];
  for (unsigned r = 0; r < plan.d_registers; ++r) {
    const auto* c = lanes_of<std::uint32_t>(warp, registers.c[r]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned group = lane / 4 * 4;
      const unsigned column = (lane % 4 * 2 + r % 2) * 4;
      std::uint32_t sum = c[lane];
      for (unsigned word = 0; word < plan.k / 32; ++word) {
        const Arg& a_at = registers.a[word / 4 * row_groups + r / 2];
        const std::uint32_t a = lanes_of<std::uint32_t>(warp, a_at)[group + word % 4];
        const std::uint32_t b =
            lanes_of<std::uint32_t>(warp, registers.b[word / 4])[column + word % 4];
        sum += static_cast<std::uint32_t>(std::popcount(plan.conjunction ? a & b : a ^ b));
      }
      results[r][lane] = sum;
    }
  }
  return finish(warp, op, results, active);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
