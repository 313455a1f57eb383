#include "ascend/strict/leaks.h"

#include <algorithm>

#include "ascend/counts.h"
#include "ascend/runtime/state.h"

namespace ascend_twin {
namespace {

struct Kind {
  ascend_twin_live which;
  const char* name;
};
constexpr Kind kKinds[] = {
    {ASCEND_TWIN_LIVE_EXECUTORS, "executors that never ran or were not destroyed"},
    {ASCEND_TWIN_LIVE_DEVICE_ALLOCATIONS, "device allocations"},
    {ASCEND_TWIN_LIVE_HOST_ALLOCATIONS, "host allocations"},
    {ASCEND_TWIN_LIVE_PHYSICAL_HANDLES, "physical handles"},
    {ASCEND_TWIN_LIVE_RESERVED_RANGES, "reserved ranges"},
    {ASCEND_TWIN_LIVE_CONTEXTS, "contexts"},
    {ASCEND_TWIN_LIVE_EVENTS, "events"},
    {ASCEND_TWIN_LIVE_TENSORS, "tensors"},
    {ASCEND_TWIN_LIVE_SCALARS, "scalars and arrays"},
    {ASCEND_TWIN_LIVE_LISTS, "lists"},
    {ASCEND_TWIN_LIVE_MODELS, "captured models"},
    {ASCEND_TWIN_LIVE_SINGLE_OP_OBJECTS, "descriptors of single operators"},
};

/// Those of aclrtCreateStream: default streams go with their contexts.
std::uint64_t streams_made() {
  std::uint64_t defaults = 0;
  for (const auto& context : library().contexts.all())
    defaults += context->default_stream == nullptr ? 0 : 1;
  const std::uint64_t all = library().streams.all().size();
  return all - std::min(all, defaults);
}

}  // namespace

Status check_leaks() {
  if (!is_strict()) return ACL_SUCCESS;
  std::string list;
  const auto add = [&](std::uint64_t number, const char* name) {
    if (number != 0) list += (list.empty() ? "" : ", ") + std::to_string(number) + " " + name;
  };
  for (const Kind& kind : kKinds) add(live(kind.which), kind.name);
  add(streams_made(), "streams");
  if (list.empty()) return ACL_SUCCESS;
  return object(ACL_ERROR_INTERNAL_ERROR, "left at finalize: " + list);
}

}  // namespace ascend_twin
