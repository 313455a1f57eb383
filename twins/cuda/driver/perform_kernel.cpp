#include <algorithm>
#include <thread>

#include "cuda/call.h"
#include "cuda/counts.h"
#include "cuda/driver/launch.h"
#include "cuda/driver/perform.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

unsigned host_threads() {
  const std::int64_t wanted = setting(Setting::kThreads);
  if (wanted > 0) return static_cast<unsigned>(std::min<std::int64_t>(wanted, 256));
  // A seed picks an order of blocks, which several threads would not keep.
  if (setting(Setting::kOrder) != 0) return 1;
  return std::max(1U, std::thread::hardware_concurrency());
}

Checks checks() {
  Checks checks;
  checks.initialised = setting(Setting::kCheckInitialised) != 0;
  checks.races = setting(Setting::kCheckRaces) != 0;
  checks.warp = setting(Setting::kCheckWarp) != 0;
  checks.stop = setting(Setting::kFindings) == 0;
  return checks;
}

Launch launch_of(Context& context, const KernelWork& work, std::uint64_t number) {
  const Device& device = *context.device;
  Launch launch;
  launch.program = work.function->program;
  launch.kernel = work.function->kernel;
  launch.grid = work.grid;
  launch.block = work.block;
  launch.cluster = work.cluster;
  launch.dynamic_shared = work.dynamic_shared;
  {
    const std::lock_guard lock(context.mutex);
    launch.stack_bytes = context.limits[CU_LIMIT_STACK_SIZE];
  }
  launch.cooperative = work.cooperative;
  launch.parameters = work.parameters;
  launch.space = driver().space;
  launch.work = number;
  launch.sm = device.sm();
  launch.multiprocessors = static_cast<std::uint32_t>(device.profile->multiprocessors);
  launch.resident_blocks =
      launch.multiprocessors *
      static_cast<std::uint64_t>(blocks_per_multiprocessor(
          device, *work.function->kernel, threads_of(work.block), work.dynamic_shared));
  launch.instruction_limit = static_cast<std::uint64_t>(setting(Setting::kInstructions));
  launch.seed = static_cast<std::uint64_t>(setting(Setting::kOrder));
  launch.host_threads = host_threads();
  launch.checks = checks();
  launch.sum = static_cast<Sum>(setting(Setting::kMmaSum));
  launch.worst_approximations = setting(Setting::kApproximate) != 0;
  launch.device = device.ordinal;
  launch.devices = context.peer_devices | std::uint32_t{1} << device.ordinal;
  return launch;
}

}  // namespace

CUresult perform_kernel(Context& context, const KernelWork& work, std::uint64_t number) {
  const Launch launch = launch_of(context, work, number);
  const LaunchResult result = run(launch);
  count_launch(launch.kernel->function.name, result.counts, work.parameters);
  keep_findings(result.findings);
  if (result.code == 0) return CUDA_SUCCESS;
  return fail_work(context, static_cast<CUresult>(result.code), result.reason);
}

}  // namespace cuda_twin
