// Granite 3 with experts, and with a shared one where the file says so.
#include "model/architectures/describe.h"

namespace shunt {

Status describe_granitemoe(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_granite(keys, model));
  return read_shared_expert(keys, model);
}

}  // namespace shunt
