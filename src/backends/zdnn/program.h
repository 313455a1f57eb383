// A segment on the accelerator: a result stays in the machine's layout as long as only the machine
// reads it. A tensor goes into that layout at most once a segment, or once more in a form that a
// kernel makes of it (SourceForm), and out of it at most once.
#pragma once

#include <memory>

#include "backends/zdnn/binding.h"

namespace shunt::zdnn {

/// The objects in `shared` must outlive the program. Its bindings are HostBindings. A node that
/// meets numbers beyond DLFLOAT16 is counted. Finite ones become the largest one, if the user has
/// not chosen otherwise. Where that is not enough, or a result is beyond, the node is computed by
/// its op's plain meaning.
Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Shared& shared);

}  // namespace shunt::zdnn
