// LFM2 with experts (arXiv 2511.23404), chosen with a bias.
#include "model/architectures/describe.h"

namespace shunt {

Status describe_lfm2moe(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_lfm2(keys, model));
  SHUNT_TRY(read_experts(keys, model, {.routing = Routing::kSigmoid, .least_sum = 1e-6F}));
  model.add(
      {{WeightSlot::kSelectionBias, need_as_in_others(keys, model, WeightSlot::kSelectionBias)}});
  return ok();
}

}  // namespace shunt
