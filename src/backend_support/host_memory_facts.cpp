#include "backend_support/host_memory_facts.h"

#include "base/host_memory_facts.h"

namespace shunt {

void set_host_memory(DeviceInfo& info) {
  const HostMemoryFacts memory = host_memory_facts();
  info.host_memory = true;
  info.memory_total = memory.total;
  info.memory_free = memory.free;
}

}  // namespace shunt
