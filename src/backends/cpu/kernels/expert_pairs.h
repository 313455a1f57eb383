// The columns of matmul_id: pairs of a token and one of its experts, sorted by expert, in shared
// scratch.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// A column of x and of the result.
struct ExpertColumn {
  std::byte* x = nullptr;
  float* y = nullptr;
};

/// The pairs, sorted: those of expert e are order[start[e]] to order[start[e + 1] - 1].
struct ExpertPairs {
  std::int64_t experts = 0;
  std::int64_t* start = nullptr;
  std::int64_t* order = nullptr;

  explicit ExpertPairs(const Call& call)
      : experts(call.sources[0].sizes[2]),
        start(reinterpret_cast<std::int64_t*>(call.scratch)),
        order(start + experts + 1) {}

  static std::size_t bytes(std::int64_t experts, std::int64_t pairs) {
    return static_cast<std::size_t>(experts + 1 + pairs) * sizeof(std::int64_t);
  }

  std::int64_t count(std::int64_t expert) const { return start[expert + 1] - start[expert]; }

  /// Sorts by counting. Pairs whose expert does not exist are left out, which is a fault.
  Fault sort(const TensorArg& ids) const {
    const std::int64_t used = ids.sizes[0];
    const std::int64_t pairs = used * ids.sizes[1];
    Fault fault = Fault::kNone;
    const auto expert_of = [&](std::int64_t pair) {
      const std::int64_t id = integer_at(ids, pair % used, pair / used);
      if (id >= 0 && id < experts) return id;
      fault = Fault::kIndexOutOfRange;
      return std::int64_t{-1};
    };
    std::fill_n(start, experts + 1, 0);
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      if (const std::int64_t e = expert_of(pair); e >= 0) ++start[e + 1];
    }
    for (std::int64_t e = 0; e < experts; ++e) start[e + 1] += start[e];
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      if (const std::int64_t e = expert_of(pair); e >= 0) order[start[e]++] = pair;
    }
    // Each start has become the next one's.
    for (std::int64_t e = experts; e > 0; --e) start[e] = start[e - 1];
    start[0] = 0;
    return fault;
  }

  /// Column i of those in order, at row `row` of the result.
  ExpertColumn column(const Call& call, std::int64_t i, std::int64_t row) const {
    const TensorArg& x = call.sources[1];
    const std::int64_t used = call.sources[2].sizes[0];
    const std::int64_t u = order[i] % used;
    const std::int64_t t = order[i] / used;
    return {x.row(x.sizes[1] == 1 ? 0 : u, t), as_f32(call.result.row(u, t)) + row};
  }
};

/// Rows of one expert and its columns.
struct ExpertItem {
  TensorArg w;  ///< from its first row on
  std::int64_t expert = 0;
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t first = 0;  ///< column, in the order of the pairs
  std::int64_t columns = 0;
};

}  // namespace shunt::cpu
