// cuGraphLaunch.
#include <utility>
#include <vector>

#include "cuda/call.h"
#include "cuda/driver/pools.h"
#include "cuda/graphs/capture.h"
#include "cuda/graphs/exec.h"
#include "cuda/graphs/graphs.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

/// The accounting of a launch's memory; taken back unless it is kept.
class Uses {
 public:
  Uses() = default;
  Uses(const Uses&) = delete;
  Uses& operator=(const Uses&) = delete;
  ~Uses() {
    for (const auto& memory : ended_) cancel_end(memory);
    for (const auto& memory : begun_) cancel_use(*memory);
  }

  CUresult begin(const Plan& plan, const Stream& stream) {
    CUresult code = CUDA_SUCCESS;
    each_step<AllocateWork>(plan, [&](const AllocateWork& work) {
      if (code == CUDA_SUCCESS) code = begin_use(work.memory, &stream);
      if (code == CUDA_SUCCESS) begun_.push_back(work.memory);
    });
    each_step<FreeWork>(plan, [&](const FreeWork& work) {
      if (code == CUDA_SUCCESS) code = end_use(*work.memory, &stream);
      if (code == CUDA_SUCCESS) ended_.push_back(work.memory);
    });
    return code;
  }
  void keep() {
    begun_.clear();
    ended_.clear();
  }

 private:
  std::vector<std::shared_ptr<PoolAllocation>> begun_, ended_;
};

/// Frees memory that the last launch allocated, if it is still in use.
CUresult free_leftovers(const Plan& plan, Stream& stream) {
  std::vector<std::shared_ptr<PoolAllocation>> left;
  each_step<AllocateWork>(plan, [&](const AllocateWork& work) {
    if (is_in_use(*work.memory)) left.push_back(work.memory);
  });
  for (const auto& memory : left) {
    CUDA_TWIN_TRY(end_use(*memory, &stream));
    const CUresult submitted = submit(stream, FreeWork{memory, nullptr});
    if (submitted != CUDA_SUCCESS) cancel_end(memory);
    CUDA_TWIN_TRY(submitted);
  }
  return CUDA_SUCCESS;
}

std::uint64_t seed_of(std::uint64_t launches) {
  const auto order = static_cast<std::uint64_t>(setting(Setting::kOrder));
  return order == 0 ? 0 : order + (launches << 32);
}

CUresult launch(const std::shared_ptr<GraphExec>& exec, std::shared_ptr<const Plan> plan,
                Stream& stream) {
  const std::lock_guard in_turn(exec->launching);
  if ((exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0)
    CUDA_TWIN_TRY(free_leftovers(*plan, stream));
  Uses uses;
  CUDA_TWIN_TRY(uses.begin(*plan, stream));
  auto made = std::make_shared<GraphLaunch>();
  made->tasks = tasks_of(*plan);
  made->plan = std::move(plan);
  made->previous = exec->last_turn;
  made->seed = seed_of(++exec->launches);
  std::shared_ptr<Turn> turn = made->turn;
  CUDA_TWIN_TRY(submit(stream, GraphWork{nullptr, std::move(made)}));
  uses.keep();
  exec->last_turn = std::move(turn);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return call_in_stream(__func__, stream_handle, [&](Context&, Stream& stream) -> CUresult {
    const std::shared_ptr<GraphExec> exec = driver().graph_execs.find(handle);
    if (exec == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no executable graph");
    if (is_capturing(stream)) return submit(stream, GraphWork{exec, nullptr});
    if (fault_is_due(Setting::kFailLaunch))
      return refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_TWIN_FAIL_LAUNCH");
    std::shared_ptr<const Plan> plan;
    {
      const GraphsLock lock = lock_graphs();
      plan = exec->plan;
    }
    return launch(exec, std::move(plan), stream);
  });
}

}  // extern "C"
