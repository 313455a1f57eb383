#include "device/device_run.h"

#include <algorithm>
#include <array>

namespace shunt {

Result<std::unique_ptr<Buffer>> filled_buffer(BufferType& type, std::size_t bytes, std::byte rest,
                                              std::span<const std::byte> start) {
  SHUNT_ASSIGN(auto buffer, type.allocate(bytes));
  start = start.first(std::min(start.size(), bytes));
  if (!start.empty()) SHUNT_TRY(buffer->write(0, start));
  SHUNT_TRY(buffer->fill(start.size(), bytes - start.size(), rest));
  return buffer;
}

std::vector<const BufferType*> types_of(std::span<const Address> addresses) {
  std::vector<const BufferType*> types;
  for (const Address& at : addresses) types.push_back(at ? &at.buffer->type() : nullptr);
  return types;
}

Result<DeviceRun> DeviceRun::create(Device& device, const Graph& graph,
                                    std::span<const NodeId> nodes,
                                    std::span<const Address> addresses) {
  DeviceRun run;
  const auto kept = std::make_unique<bool[]>(graph.size());
  std::fill_n(kept.get(), graph.size(), true);
  const std::vector<const BufferType*> memory = types_of(addresses);
  SHUNT_ASSIGN(run.program_, device.prepare({graph, nodes, {kept.get(), graph.size()}, memory}));
  Addresses where{addresses, {}};
  if (const std::size_t scratch = run.program_->needs().scratch_bytes; scratch > 0) {
    SHUNT_ASSIGN(run.scratch_, device.memory().allocate(scratch));
    where.scratch = {run.scratch_.get(), 0};
  }
  SHUNT_ASSIGN(run.binding_, run.program_->bind(where));
  SHUNT_ASSIGN(run.stream_, device.open_stream());
  SHUNT_ASSIGN(run.done_, run.stream_->create_event());
  return run;
}

Status DeviceRun::run(const DynamicDimValues& dynamic_dims, const std::atomic<bool>* cancel) {
  Status status =
      stream_->run(*binding_, {.dynamic_dims = dynamic_dims, .cancel = cancel}, {}, done_.get());
  if (status) status = done_->wait();
  if (!status) (void)stream_->synchronize();
  return status;
}

}  // namespace shunt
