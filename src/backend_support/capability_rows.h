// The requirements of a kernel as a table. Each row has one requirement, and the reason for the
// refusal of a node or target that does not meet it.
#pragma once

#include <span>
#include <string>

#include "device/kernel_table.h"

namespace shunt {

template <class Target>
struct CapabilityRow {
  Refusal refusal = Refusal::kOp;
  /// Returns the reason why the requirement is not met, for users; empty if it is met.
  std::string (*why_not)(const NodeView& view, const Target& target) = nullptr;
};

/// Yes; or no, with the reason of the first requirement that is not met.
template <class Target>
Support check_rows(std::span<const CapabilityRow<Target>> rows, const NodeView& view,
                   const Target& target) {
  for (const CapabilityRow<Target>& row : rows) {
    if (std::string why = row.why_not(view, target); !why.empty()) {
      return Support::no(row.refusal, std::move(why));
    }
  }
  return Support::yes();
}

}  // namespace shunt
