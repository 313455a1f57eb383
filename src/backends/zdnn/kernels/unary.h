// Functions of each element, for kernels that begin with one.
#pragma once

#include <vector>

#include "backends/zdnn/kernel.h"

namespace shunt::zdnn {

/// One row an op. It says which functions the op is made of, and how many temporaries of its own
/// size it takes, from the first on. It also says how exact the op is (ZdnnKernel::roundings), and
/// whether its result may be lost (ZdnnKernel::vanishes).
struct UnaryRow {
  const Op& (*op)();
  std::vector<Need> needs;
  std::size_t temporaries;
  double roundings;
  bool vanishes;
  bool (*run)(Launch& l, const Stick& x, Stick& y);
};

/// The row of an op that has one.
const UnaryRow& unary_row(const Op& op);

}  // namespace shunt::zdnn
