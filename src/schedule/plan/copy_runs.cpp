#include "schedule/plan/copy_runs.h"

#include "schedule/plan/node_bytes.h"

namespace shunt {

CopyShape CopyRuns::shape_of(const CopyPart& part) const {
  return copy_shape(graph_.node(part.node).result, dynamic_dims_);
}

std::optional<CopyRun> CopyRuns::next() {
  while (!parts_.empty()) {
    const CopyPart* last = &parts_.front();
    CopyRun run = {last->offset, shape_of(*last)};
    std::size_t used = bytes_of(run.shape);
    parts_ = parts_.subspan(1);
    if (used == 0) continue;
    while (run.shape.rows == 1 && used == bytes_of(graph_, last->node) && !parts_.empty()) {
      const CopyShape following = shape_of(parts_.front());
      if (following.rows != 1) break;
      last = &parts_.front();
      used = following.bytes;
      run.shape.bytes = last->offset + used - run.offset;
      parts_ = parts_.subspan(1);
    }
    return run;
  }
  return std::nullopt;
}

}  // namespace shunt
