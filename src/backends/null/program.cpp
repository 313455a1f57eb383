#include "backends/null/program.h"

#include "shunt/message.h"

namespace shunt::null {

Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         const NullTarget& target) {
  for (NodeId id : segment.nodes) {
    const Support answer = table.supports(segment.graph, id, target, segment.memory);
    if (answer.refused()) {
      return fail(ErrorCode::kUnsupported, "{}: {}", segment.graph.describe(id), answer.facts());
    }
  }
  return fail(ErrorCode::kUnsupported, "the null device prepares nothing");
}

}  // namespace shunt::null
