#include "backends/cpu/device.h"

#include <unistd.h>

#include <fmt/ranges.h>

#include "backends/cpu/simd/level.h"
#include "base/cpu_topology.h"
#include "base/fail.h"
#include "device/sync_stream.h"

namespace shunt::cpu {

#include "kernel_list.inc"

namespace {

constexpr int kMaxThreads = 1024;

class CpuStream final : public SyncStream {
 protected:
  Status run_now(Binding& binding, const RunArgs& args) override { return cpu::run(binding, args); }
};

}  // namespace

CpuDevice::CpuDevice(std::unique_ptr<Pool> pool, std::string model)
    : table_(kKernelFiles), pool_(std::move(pool)), model_(std::move(model)) {}

Result<std::unique_ptr<CpuDevice>> CpuDevice::create(const Options& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return invalid("{} threads: it may be 1 to {}, or 0 for one a physical core", options.threads,
                   kMaxThreads);
  }
  if (!simd::limit_level(options.cpu_level)) {
    return invalid("vector level \"{}\": this machine has {}", options.cpu_level,
                   fmt::join(simd::levels(), ", "));
  }
  CpuTopology topology = read_cpu_topology();
  const int threads = options.threads > 0 ? options.threads : topology.default_threads();
  SHUNT_ASSIGN(auto pool, Pool::create(threads, topology, options.pin_threads));
  return std::unique_ptr<CpuDevice>(new CpuDevice(std::move(pool), std::move(topology.model)));
}

DeviceInfo CpuDevice::info() const {
  DeviceInfo info;
  info.name = "cpu0";
  info.description = fmt::format("{}, {} thread{}{}, {}", model_.empty() ? "CPU" : model_,
                                 pool_->threads(), pool_->threads() == 1 ? "" : "s",
                                 pool_->pinned() ? " bound to cores" : "", simd::level());
  info.kind = DeviceKind::kCpu;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  info.memory_total = page * static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  info.memory_free = page * static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES));
  return info;
}

Result<std::unique_ptr<Stream>> CpuDevice::open_stream() {
  return std::make_unique<CpuStream>();
}

Result<std::unique_ptr<Program>> CpuDevice::prepare(const SegmentView& segment) {
  return cpu::prepare(segment, table_, *pool_);
}

}  // namespace shunt::cpu
