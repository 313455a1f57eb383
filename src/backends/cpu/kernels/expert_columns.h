// Columns of matmul_id that are rounded to 8 bits (simd/int8.h), each expert's together: few
// columns follow one another, more are in groups, as matmul has them (matmul_int8.h).
#pragma once

#include "backends/cpu/kernels/expert_pairs.h"
#include "backends/cpu/kernels/matmul_int8.h"

namespace shunt::cpu {

/// The layout in shared scratch, behind the pairs. A unit is one column of an expert that has few,
/// or a group of kManyColumns of one that has many.
struct ExpertColumns {
  RoundedColumns many;     ///< of an expert that has many columns, whatever their number
  bool few_exist = false;  ///< not where each column is to be computed as if it were alone
  std::int64_t experts = 0;
  std::int64_t pairs = 0;           ///< at most
  std::int64_t* units = nullptr;    ///< by expert: the units before its own; one more is the total
  std::int64_t* offsets = nullptr;  ///< by expert: where its columns start, in bytes
  std::byte* columns = nullptr;

  static ExpertColumns of(const Call& call) {
    const Sizes& ids = call.sources[2].sizes;
    const TensorArg& w = call.sources[0];
    ExpertColumns columns = layout(w.sizes[0], w.sizes[2], ids[0] * ids[1], call.level(), w.dtype,
                                   call.batch_invariant);
    std::byte* at = call.scratch + padded(ExpertPairs::bytes(columns.experts, columns.pairs));
    columns.units = reinterpret_cast<std::int64_t*>(at);
    columns.offsets = columns.units + columns.experts + 1;
    columns.columns = at + padded(index_bytes(columns.experts));
    return columns;
  }
  /// Of all of it, pairs included.
  static std::size_t bytes(std::int64_t k, std::int64_t experts, std::int64_t pairs,
                           simd::Level level, DType w, bool batch_invariant) {
    const ExpertColumns columns = layout(k, experts, pairs, level, w, batch_invariant);
    const std::int64_t few =
        batch_invariant ? 0 : std::min(pairs, experts * simd::kFewInt8Columns) * simd::few_bytes(k);
    const std::int64_t groups = pairs / simd::kManyColumns + std::min(pairs, experts);
    return padded(ExpertPairs::bytes(experts, pairs)) + padded(index_bytes(experts)) +
           static_cast<std::size_t>(few + groups * columns.many.group_bytes());
  }

  bool is_few(std::int64_t count) const { return few_exist && count <= simd::kFewInt8Columns; }
  std::int64_t units_of(std::int64_t count) const {
    return is_few(count) ? count : ceil_div(count, simd::kManyColumns);
  }
  std::int64_t unit_bytes(std::int64_t count) const {
    return is_few(count) ? simd::few_bytes(many.k) : many.group_bytes();
  }
  const std::byte* of_expert(std::int64_t expert) const { return columns + offsets[expert]; }

  /// Gives each expert its place.
  void place(const ExpertPairs& sorted) const {
    std::int64_t unit = 0;
    std::int64_t offset = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::int64_t count = sorted.count(e);
      units[e] = unit;
      offsets[e] = offset;
      unit += units_of(count);
      offset += units_of(count) * unit_bytes(count);
    }
    units[experts] = unit;
  }

  /// Rounds a unit; one beyond the last is nothing. `room` has rounding_floats().
  void round(const Call& call, const ExpertPairs& sorted, std::int64_t unit, float* room) const {
    if (unit >= units[experts]) return;
    const std::int64_t expert = std::upper_bound(units, units + experts + 1, unit) - units - 1;
    const std::int64_t count = sorted.count(expert);
    const std::int64_t number = unit - units[expert];
    const TensorArg& x = call.sources[1];
    std::byte* to = columns + offsets[expert] + number * unit_bytes(count);
    if (is_few(count)) {
      const ExpertColumn column = sorted.column(call, sorted.start[expert] + number, 0);
      return simd::quantize_few(many.level, view_f32(x, column.x, 0, many.k, room), many.k,
                                many.need, to);
    }
    const std::int64_t first = number * simd::kManyColumns;
    const std::int64_t here = std::min(simd::kManyColumns, count - first);
    for (std::int64_t k = 0; k < many.k; k += simd::kInt8Depth) {
      const std::int64_t depth = std::min(simd::kInt8Depth, many.k - k);
      for (std::int64_t c = 0; c < here; ++c) {
        const ExpertColumn column = sorted.column(call, sorted.start[expert] + first + c, 0);
        read_f32(x, column.x, k, depth, room + c * simd::kInt8Depth);
      }
      simd::quantize_columns(many.level, room, simd::kInt8Depth, here, simd::kManyColumns, depth,
                             many.need, to + k / simd::kInt8Block * many.block_bytes(0));
    }
  }

  /// Floats of a worker's scratch that rounding takes.
  static std::int64_t rounding_floats(std::int64_t k) {
    return std::max(k, simd::kManyColumns * simd::kInt8Depth);
  }

 private:
  static ExpertColumns layout(std::int64_t k, std::int64_t experts, std::int64_t pairs,
                              simd::Level level, DType w, bool batch_invariant) {
    ExpertColumns columns;
    columns.many = {.k = k,
                    .n = pairs,
                    .slices = 1,
                    .need = simd::int8_need(level, w),
                    .level = level,
                    .batch_invariant = true};
    columns.few_exist = !batch_invariant;
    columns.experts = experts;
    columns.pairs = pairs;
    return columns;
  }
  static std::size_t index_bytes(std::int64_t experts) {
    return static_cast<std::size_t>(2 * experts + 1) * sizeof(std::int64_t);
  }
  static std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
};

}  // namespace shunt::cpu
