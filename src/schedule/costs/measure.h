// Measuring one op of a device, or its copies.
#pragma once

#include <optional>

#include "schedule/costs/timer.h"
#include "shunt/costs.h"

namespace shunt {

/// An op that is measured, with the type that decides how fast it is. Ops that are not measured
/// have the costs of one that is.
struct MeasuredOp {
  std::string_view op;  ///< "matmul", "attention" or kAnyOp
  DType dtype = DType::kF32;
  auto operator<=>(const MeasuredOp&) const = default;
};
/// The one whose costs a computed node has.
MeasuredOp measured_op(const Graph& graph, NodeId node);

/// The op as the device would compute it: with the type that it takes the weight in, if it says
/// "yes, if" (Support::yes_if). Nothing if it does not compute the op.
std::optional<MeasuredOp> measured_on(Device& device, const MeasuredOp& op);

/// Unsupported if the device does not compute the op. `spare` is of this device.
Result<OpCost> measure_op(Device& device, const MeasuredOp& op, const MeasureOptions& options,
                          SpareMemory& spare);
/// Adds both directions; nothing where the host reads the device's memory as it is.
Status measure_copies(Device& device, const MeasureOptions& options, CostModel& costs);

}  // namespace shunt
