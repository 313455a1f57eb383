// A copy of several tensors as runs: those that are adjacent in a step are transferred at once.
#pragma once

#include <optional>
#include <span>

#include "schedule/plan/action.h"

namespace shunt {

/// Bytes that one call of a stream copies.
struct CopyRun {
  std::size_t offset = 0;  ///< from Action::from, and from Action::to
  CopyShape shape = {};
};

/// The runs of a copy at the actual sizes of a step. A tensor in one piece continues the run of the
/// tensor before it if that is used up to its end at the dynamic dimensions' maximum; the bytes
/// between the two belong to neither. A tensor of separate rows is a run of its own, and one
/// without elements is none. Allocates nothing; all must outlive it.
class CopyRuns {
 public:
  CopyRuns(const Graph& graph, std::span<const CopyPart> parts,
           const DynamicDimValues& dynamic_dims)
      : graph_(graph), parts_(parts), dynamic_dims_(dynamic_dims) {}

  std::optional<CopyRun> next();

 private:
  CopyShape shape_of(const CopyPart& part) const;

  const Graph& graph_;
  std::span<const CopyPart> parts_;  // that are left
  const DynamicDimValues& dynamic_dims_;
};

}  // namespace shunt
