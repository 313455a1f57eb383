#include "cuda/driver/perform.h"

#include <chrono>
#include <iterator>
#include <thread>

#include "cuda/call.h"
#include "cuda/driver/pools.h"
#include "cuda/driver/thread.h"
#include "cuda/driver/worker.h"
#include "cuda/graphs/run.h"
#include "cuda/races/work_order.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

struct Performer {
  Context& context;
  std::uint64_t number;

  CUresult operator()(const EmptyWork&) const { return CUDA_SUCCESS; }
  CUresult operator()(const KernelWork& work) const {
    return perform_kernel(context, work, number);
  }
  CUresult operator()(const CopyWork& work) const { return perform_copy(context, work, number); }
  CUresult operator()(const FillWork& work) const { return perform_fill(context, work, number); }
  CUresult operator()(const HostWork& work) const {
    // The host's code knows that the work before it has ended.
    driver().space->works().host_waited(number);
    run_host_function(work.function, work.user);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const RecordWork& work) const { return perform_record(work); }
  CUresult operator()(const WaitWork& work) const { return perform_wait(context, work); }
  CUresult operator()(const WriteValueWork& work) const {
    return perform_write_value(context, work, number);
  }
  CUresult operator()(const WaitValueWork& work) const { return perform_wait_value(context, work); }
  CUresult operator()(const AllocateWork& work) const { return perform_allocation(*work.memory); }
  CUresult operator()(const FreeWork& work) const { return perform_free(*work.memory); }
  CUresult operator()(const GraphWork& work) const {
    return work.launch == nullptr ? CUDA_SUCCESS : perform_graph(context, *work.launch, number);
  }
  CUresult operator()(const ChildGraphWork&) const { return CUDA_SUCCESS; }
};

/// Whether a fault of the device can strike this work.
bool uses_device(const Work& work) {
  return std::holds_alternative<KernelWork>(work) || std::holds_alternative<CopyWork>(work) ||
         std::holds_alternative<FillWork>(work) || std::holds_alternative<GraphWork>(work);
}

/// What happens even on a lost context or device, so that no other stream waits in vain.
bool always_happens(const Work& work) {
  return std::holds_alternative<RecordWork>(work);
}

struct NameOf {
  std::string operator()(const KernelWork& work) const {
    return work.function == nullptr ? "kernel" : "kernel " + work.function->kernel->function.name;
  }
  std::string operator()(const CopyWork&) const { return "copy"; }
  std::string operator()(const FillWork&) const { return "fill"; }
  std::string operator()(const HostWork&) const { return "host function"; }
  std::string operator()(const RecordWork&) const { return "record of an event"; }
  std::string operator()(const WaitWork&) const { return "wait for an event"; }
  std::string operator()(const GraphWork&) const { return "graph"; }
  std::string operator()(const FreeWork&) const { return "free"; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "stream operation";
  }
};

}  // namespace

std::string name_of_work(const Work& work) {
  return std::visit(NameOf{}, work);
}

CUresult perform(Context& context, const Work& work, std::uint64_t number) {
  forget_unmapped_host_memory();
  return std::visit(Performer{context, number}, work);
}

CUresult fail_work(Context& context, CUresult code, const std::string& reason) {
  fail_late(context, code, reason);
  return code;
}

void perform_in_turn(Context& context, const Work& work, std::uint64_t number) {
  if ((context.late_error != 0 || driver().lost) && !always_happens(work)) return;
  if (uses_device(work) && fault_is_due(Setting::kFailLate)) {
    fail_late(context, static_cast<CUresult>(setting(Setting::kLateCode)),
              "CUDA_TWIN_FAIL_LATE: " + name_of_work(work));
    return;
  }
  if (uses_device(work) && fault_is_due(Setting::kFailHang)) {
    while (!context.destroyed && context.late_error == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    fail_late(context, CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_TWIN_FAIL_HANG");  // for the queue
    return;
  }
  CUresult result = CUDA_ERROR_UNKNOWN;
  try {
    result = perform(context, work, number);
  } catch (...) {
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (result != CUDA_SUCCESS) fail_late(context, result, name_of_work(work) + " failed");
}

}  // namespace cuda_twin
