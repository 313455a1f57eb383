// ERNIE 4.5, dense: Llama.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_ernie4_5(ArchitectureKeys& keys, Description& model) {
  return describe_llama(keys, model);
}

std::vector<Published> publish_ernie4_5() {
  using enum ConfigRule;
  return {{.types = "ernie4_5",
           .architecture = "ernie4_5",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope},
           .limits = silu_only()}};
}

}  // namespace shunt
