#include "backend_support/host_memory_facts.h"

#include "base/host_memory_facts.h"

namespace shunt {

void set_host_memory(DeviceInfo& info) {
  info.host_memory = true;
  info.memory_total = host_memory_total();
}

}  // namespace shunt
