#include "backends/cpu/device.h"

#include <fmt/ranges.h>

#include "backend_support/host_memory_facts.h"
#include "backends/cpu/fused/patterns.h"
#include "backends/cpu/interleaved.h"
#include "backends/cpu/options.h"
#include "backends/cpu/peak_meter.h"
#include "backends/cpu/weight_memory.h"
#include "shunt/message.h"

namespace shunt::cpu {

#include "kernel_list.inc"

CpuDevice::CpuDevice(std::shared_ptr<CpuThreads> threads, const CpuTarget& target, bool fuse,
                     std::shared_ptr<const HighBandwidthNodes> nodes)
    : KernelDevice(kKernelFiles),
      target_(target),
      threads_(std::move(threads)),
      high_bandwidth_(nodes == nullptr ? nullptr
                                       : std::make_unique<HighBandwidthMemory>(std::move(nodes))),
      interleaved_(memory(), threads_) {
  if (fuse) patterns_ = fused_patterns();
}

Result<std::unique_ptr<CpuDevice>> CpuDevice::create(const Options& options,
                                                     const MachineDescription& machine) {
  SHUNT_TRY(check_threads(options.threads));
  const CpuOptions own = parse_options(options);
  const auto level = own.level.empty() ? simd::Level::best() : simd::Level::find(own.level);
  if (!level) {
    return invalid("vector level \"{}\": this machine has {}", own.level,
                   fmt::join(simd::levels(), ", "));
  }
  SHUNT_ASSIGN(auto threads, share_cpu_threads(options));
  auto nodes = own.high_bandwidth ? HighBandwidthNodes::find(machine) : nullptr;
  std::unique_ptr<CpuDevice> device(
      new CpuDevice(std::move(threads), {*level, own.deterministic}, own.fuse, std::move(nodes)));
  if (own.high_bandwidth && device->high_bandwidth_ == nullptr) {
    device->note_ =
        "cpu.memory=hbm: this machine has no NUMA nodes of high-bandwidth memory that hwloc knows, "
        "so plain memory is used";
  }
  return device;
}

BufferType& CpuDevice::memory() {
  return high_bandwidth_ == nullptr ? host_memory() : *high_bandwidth_;
}

OwnMemory CpuDevice::own_memory() const {
  return {.workspace = threads_->pool->scratch_bytes()};
}

DeviceInfo CpuDevice::info() const {
  const Pool& pool = *threads_->pool;
  const std::string& model = threads_->topology.model;
  DeviceInfo info;
  info.name = name();
  info.description = fmt::format("{}, {} thread{}{}, {}{}", model.empty() ? "CPU" : model,
                                 pool.threads(), pool.threads() == 1 ? "" : "s",
                                 pool.pinned() ? " bound to cores" : "", target_.level.name(),
                                 high_bandwidth_ == nullptr ? "" : ", high-bandwidth memory");
  info.kind = DeviceKind::kCpu;
  set_host_memory(info);
  return info;
}

bool CpuDevice::can_read(const BufferType& type) const {
  return type.host_accessible() || is_interleaved_memory(&type);
}

std::vector<WeightCandidate> CpuDevice::weight_forms(const Graph& graph, NodeId leaf) {
  // Relative times, read as numbers of the same machine: docs/internals/kernels.md.
  constexpr double kInterleaved = 0.8;
  constexpr double kHugePages = 0.9;
  bool streamed = false;
  for (NodeId id = leaf + 1; id < graph.size() && !streamed; ++id) {
    const Node& node = graph.node(id);
    for (std::size_t s = 0; s < node.sources.size(); ++s) {
      if (node.sources[s] == kNoNode || graph.node(node.sources[s]).storage != leaf) continue;
      const CpuKernel* const kernel = kernel_of(node);
      streamed |= kernel != nullptr && kernel->streams(s);
    }
  }
  if (!streamed) return {};
  std::vector<WeightCandidate> forms;
  if (high_bandwidth_ == nullptr) forms.push_back({&memory(), false, kHugePages, "in huge pages"});
  const Tensor& tensor = graph.node(leaf).result;
  if (can_interleave(tensor) && multiplies_interleaved(target_.level, tensor.dtype)) {
    forms.push_back({&interleaved_, false, kInterleaved, "16 rows interleaved"});
  }
  return forms;
}

Result<std::unique_ptr<Program>> CpuDevice::prepare(const SegmentView& segment) {
  return cpu::prepare(segment, kernel_table(), target_, *threads_->pool, patterns_);
}

Result<std::unique_ptr<PeakMeter>> CpuDevice::open_peak_meter(int threads) {
  SHUNT_TRY(check_threads(threads));
  return std::make_unique<CpuPeakMeter>(threads == 0 ? threads_->pool->threads() : threads,
                                        target_.level);
}

}  // namespace shunt::cpu
