#include "backends/null/stream.h"

#include "shunt/message.h"

namespace shunt::null {

Status NullStream::run_now(Binding&, const RunArgs&) {
  return fail(ErrorCode::kUnsupported, "the null device runs nothing");
}

}  // namespace shunt::null
