#include "engine/session/zeroed_caches.h"

#include "device/device_run.h"
#include "shunt/message.h"

namespace shunt {

Result<std::vector<std::unique_ptr<Buffer>>> zeroed_caches(const ModelState& model,
                                                           const Graph& graph,
                                                           std::span<const NodeId> caches) {
  if (caches.size() != model.residency.caches.size()) {
    return invalid("the step has {}, but the model was loaded for {}",
                   counted(caches.size(), "cache"), model.residency.caches.size());
  }
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    Device& home = *model.devices[model.residency.caches[i]];
    const std::size_t bytes = home.memory().size_of(graph.node(caches[i]).result);
    auto cache = filled_buffer(home.memory(), bytes, std::byte{0});
    if (!cache) {
      return std::move(cache.error())
          .with_device(home.name())
          .with_context(fmt::format("{}: {} bytes for a cache", home.name(), bytes));
    }
    buffers.push_back(std::move(*cache));
  }
  return buffers;
}

}  // namespace shunt
