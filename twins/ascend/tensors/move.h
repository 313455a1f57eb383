// Elements moved as they are: where the types are equal nothing is rounded, and no NaN changes.
#pragma once

#include <cstdint>
#include <span>

#include "ascend/tensors/operand.h"

namespace ascend_twin {

/// The value of a cell that has no source: as `integer` in types of integers unless it `is_real`.
struct Filling {
  double real = 0;
  std::int64_t integer = 0;
  bool is_real = false;
};

/// The same memory under another view; views come from the operand's own.
Operand viewed(Operand operand, const View& view);

/// One dimension restricted to `count` places from `start`, `step` apart.
View narrowed(View view, std::size_t axis, std::int64_t start, std::int64_t count,
              std::int64_t step = 1);

/// Element i of `to` becomes element i of `from`, in logical order, converted if the types differ.
/// All is read before the first is written: the operands may overlap.
void copy_elements(const Operand& from, const Operand& to);

/// A source that stands for the filling.
inline constexpr std::int64_t kFill = -1;

/// Element i of `to` becomes element sources[i] of `from`, or the filling.
void pick_elements(const Operand& from, std::span<const std::int64_t> sources, const Operand& to,
                   const Filling& filling = {});

void fill_elements(const Operand& to, const Filling& filling);

}  // namespace ascend_twin
