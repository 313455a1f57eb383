// Qwen 3.5 and 3.6 with experts, text part.
#include "model/architectures/describe.h"

namespace shunt {

Status describe_qwen35moe(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_qwen35(keys, model));
  SHUNT_TRY(read_experts(keys, model, {}));
  SHUNT_TRY(read_shared_expert(keys, model));
  model.add({{WeightSlot::kSharedRouter}});
  return ok();
}

}  // namespace shunt
