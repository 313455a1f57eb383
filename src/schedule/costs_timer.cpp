#include "schedule/costs_timer.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "base/fail.h"
#include "schedule/device_run.h"
#include "schedule/storage_users.h"

namespace shunt {

namespace {

constexpr int kLeastRuns = 3;

/// The shortest of some runs, after one that doesn't count.
Result<double> best_of(double seconds, const std::function<Status()>& run) {
  using Clock = std::chrono::steady_clock;
  SHUNT_TRY(run());
  double best = std::numeric_limits<double>::infinity();
  double total = 0;
  for (int runs = 0; runs < kLeastRuns || total < seconds; ++runs) {
    const auto start = Clock::now();
    SHUNT_TRY(run());
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, taken);
    // At least a little each time, so that a clock that stands still ends, too.
    total += std::max(taken, 1e-6);
  }
  return best;
}

/// Memory of the device with zeros in it.
Result<std::unique_ptr<Buffer>> zeros(BufferType& type, std::size_t bytes) {
  return filled_buffer(type, bytes, std::byte{0});
}

}  // namespace

Result<double> time_graph(Device& device, const Graph& graph, double seconds) {
  std::vector<NodeId> computed;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Address> addresses(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.storage != id) return invalid("{} has no memory of its own", graph.describe(id));
    if (is_computed(node)) {
      computed.push_back(id);
      if (const Support answer = device.supports(graph, id); !answer) {
        return fail(ErrorCode::kUnsupported, "{}",
                    answer.refused() ? answer.facts() : "only with a source of another type");
      }
    }
    SHUNT_ASSIGN(auto buffer, zeros(device.memory(), device.memory().size_of(node.result)));
    addresses[id] = {buffer.get(), 0};
    buffers.push_back(std::move(buffer));
  }
  SHUNT_ASSIGN(DeviceRun run, DeviceRun::create(device, graph, computed, addresses));
  const ExtentValues extents = graph.max_extents();
  return best_of(seconds, [&] { return run.run(extents); });
}

Result<double> time_copy(Device& device, std::size_t bytes, bool to_device, double seconds) {
  BufferType* staging = device.staging_memory();
  SHUNT_ASSIGN(const auto host, zeros(staging != nullptr ? *staging : host_memory(), bytes));
  SHUNT_ASSIGN(const auto there, zeros(device.memory(), bytes));
  SHUNT_ASSIGN(const auto stream, device.open_stream());
  SHUNT_ASSIGN(const auto done, stream->create_event());
  const Address at{there.get(), 0};
  const std::span<std::byte> here(host->host_data(), bytes);
  return best_of(seconds, [&]() -> Status {
    if (to_device) {
      SHUNT_TRY(stream->write(at, here, {}, done.get()));
    } else {
      SHUNT_TRY(stream->read(here, at, {}, done.get()));
    }
    return done->wait();
  });
}

}  // namespace shunt
