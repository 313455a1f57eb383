#include "backends/cpu/device.h"

#include <unistd.h>

#include <fmt/ranges.h>

#include "backends/cpu/fused/patterns.h"
#include "backends/cpu/interleaved.h"
#include "backends/cpu/interleaved_memory.h"
#include "backends/cpu/peak_meter.h"
#include "backends/cpu/simd/level.h"
#include "base/available_memory.h"
#include "base/cpu_topology.h"
#include "base/fail.h"
#include "device/sync_stream.h"

namespace shunt::cpu {

#include "kernel_list.inc"

namespace {

constexpr int kMaxThreads = 1024;

Status check_threads(int threads) {
  if (threads >= 0 && threads <= kMaxThreads) return ok();
  return invalid("{} threads: it may be 1 to {}, or 0 for one a physical core", threads,
                 kMaxThreads);
}

class CpuStream final : public SyncStream {
 protected:
  Status run_now(Binding& binding, const RunArgs& args) override { return cpu::run(binding, args); }
};

}  // namespace

CpuDevice::CpuDevice(std::unique_ptr<Pool> pool, std::string model, bool fuse)
    : table_(kKernelFiles), pool_(std::move(pool)), model_(std::move(model)) {
  if (fuse) patterns_ = fused_patterns();
}

Result<std::unique_ptr<CpuDevice>> CpuDevice::create(const Options& options) {
  SHUNT_TRY(check_threads(options.threads));
  if (!simd::limit_level(options.cpu_level)) {
    return invalid("vector level \"{}\": this machine has {}", options.cpu_level,
                   fmt::join(simd::levels(), ", "));
  }
  CpuTopology topology = read_cpu_topology();
  const int threads = options.threads > 0 ? options.threads : topology.default_threads();
  SHUNT_ASSIGN(auto pool, Pool::create(threads, topology, options.pin_threads));
  return std::unique_ptr<CpuDevice>(
      new CpuDevice(std::move(pool), std::move(topology.model), options.cpu_fuse));
}

DeviceInfo CpuDevice::info() const {
  DeviceInfo info;
  info.name = "cpu0";
  info.description = fmt::format("{}, {} thread{}{}, {}", model_.empty() ? "CPU" : model_,
                                 pool_->threads(), pool_->threads() == 1 ? "" : "s",
                                 pool_->pinned() ? " bound to cores" : "", simd::level());
  info.kind = DeviceKind::kCpu;
  info.host_memory = true;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  info.memory_total = page * static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  info.memory_free =
      available_memory().value_or(page * static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)));
  return info;
}

bool CpuDevice::can_read(const BufferType& type) const {
  return type.host_accessible() || &type == &interleaved_memory();
}

BufferType* CpuDevice::weight_memory(const Graph& graph, NodeId leaf) {
  const Tensor& tensor = graph.node(leaf).result;
  bool streamed = false;
  bool interleaved = can_interleave(tensor) && has_lanes(tensor.dtype);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == nullptr) continue;
    const CpuKernel* kernel = table_.find(*node.op);
    for (std::size_t s = 0; s < node.sources.size(); ++s) {
      if (node.sources[s] == kNoNode || graph.node(node.sources[s]).storage != leaf) continue;
      streamed |= kernel != nullptr && kernel->streams(s);
      interleaved &= kernel != nullptr && kernel->reads_interleaved(s) && node.sources[s] == leaf;
    }
  }
  if (!streamed) return nullptr;
  return interleaved ? &interleaved_memory() : &host_memory();
}

Result<std::unique_ptr<Stream>> CpuDevice::open_stream() {
  return std::make_unique<CpuStream>();
}

Result<std::unique_ptr<Program>> CpuDevice::prepare(const SegmentView& segment) {
  return cpu::prepare(segment, table_, *pool_, patterns_);
}

Result<std::unique_ptr<PeakMeter>> CpuDevice::open_peak_meter(int threads) {
  SHUNT_TRY(check_threads(threads));
  return std::make_unique<CpuPeakMeter>(threads == 0 ? pool_->threads() : threads);
}

}  // namespace shunt::cpu
