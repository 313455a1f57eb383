// The speed of the twin of NVIDIA's driver on one thread: instructions of warps a second, for the
// kernels of its tests, with and without the checks of initialised memory, races and warps. These
// are no speeds of a device.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cuda_twin/control.h"
#include "cuda_twin/driver.h"

namespace {

/// The twin's functions, by name.
class CudaTwin {
 public:
  CudaTwin() : handle_(dlopen(CUDA_TWIN_PATH, RTLD_NOW | RTLD_LOCAL)) {}
  bool is_there() const { return handle_ != nullptr; }
  template <class Function, class... Args>
  auto call(const char* name, Args... args) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name))(args...);
  }

 private:
  void* handle_;
};
const CudaTwin& cuda_twin() {
  static const CudaTwin twin;
  return twin;
}
// The headers may rename a function to its version: the macro's argument is expanded first.
#define CUDA_TWIN_NAME(NAME) #NAME
#define CUDA_TWIN_CALL(NAME, ...) \
  cuda_twin().call<decltype(NAME)>(CUDA_TWIN_NAME(NAME) __VA_OPT__(, ) __VA_ARGS__)

struct TwinKernel {
  const char* file;
  const char* name;
  unsigned grid_x, grid_y, block;
  std::vector<std::size_t> buffers;      ///< bytes, one for each of the first parameters
  std::vector<std::uint32_t> constants;  ///< the other parameters
  double flops;                          ///< of matrix products in a launch, or 0
};

std::uint32_t bits_of_float(float value) {
  std::uint32_t bits = 0;
  static_assert(sizeof bits == sizeof value);
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::vector<TwinKernel> twin_kernels() {
  constexpr std::size_t kF32 = 4, kF16 = 2;
  constexpr std::size_t kNorm = 64 * 4096;
  constexpr std::size_t kRows = 1024, kGroups = 128;
  constexpr std::size_t kM = 256, kN = 256, kK = 512;
  constexpr std::size_t kHeads = 2, kKeys = 512, kHead = 64;
  constexpr std::size_t kHeadBytes = kHeads * kKeys * kHead * kF16;
  return {
      {"norms",
       "rms_norm",
       64,
       1,
       256,
       {kNorm * kF32, 4096 * kF32, kNorm * kF32},
       {4096, bits_of_float(1e-5f)},
       0},
      {"product_dp4a",
       "product_dp4a",
       kRows / 4,
       1,
       128,
       {kRows * kGroups * 32, kRows * kGroups * kF32, kGroups * 32, kGroups * kF32, kRows * kF32},
       {kGroups},
       0},
      {"product_f16",
       "product_f16",
       kN / 64,
       kM / 64,
       128,
       {kM * kK * kF16, kN * kK * kF16, kM * kN * kF32},
       {kN, kK},
       2.0 * kM * kN * kK},
      {"attention",
       "attention",
       kKeys / 64,
       kHeads,
       128,
       {kHeadBytes, kHeadBytes, kHeadBytes, 2 * kHeadBytes},
       {kKeys, bits_of_float(0.125f)},
       4.0 * kHeads * kKeys * kKeys * kHead},
  };
}

/// A loaded kernel with its buffers: elements of them are small numbers of any type.
class TwinLaunch {
 public:
  explicit TwinLaunch(const TwinKernel& kernel)
      : kernel_(kernel), addresses_(kernel.buffers.size()) {
    std::ifstream in(std::string(CUDA_TWIN_KERNELS) + "/" + kernel.file + ".ptx");
    std::ostringstream text;
    text << in.rdbuf();
    CUdevice device = 0;
    CUcontext context = nullptr;
    ok_ = CUDA_TWIN_CALL(cuInit, 0u) == CUDA_SUCCESS &&
          CUDA_TWIN_CALL(cuDeviceGet, &device, 0) == CUDA_SUCCESS &&
          CUDA_TWIN_CALL(cuDevicePrimaryCtxRetain, &context, device) == CUDA_SUCCESS &&
          CUDA_TWIN_CALL(cuCtxSetCurrent, context) == CUDA_SUCCESS &&
          CUDA_TWIN_CALL(cuModuleLoadData, &module_, text.str().c_str()) == CUDA_SUCCESS &&
          CUDA_TWIN_CALL(cuModuleGetFunction, &function_, module_, kernel.name) == CUDA_SUCCESS;
    for (std::size_t i = 0; ok_ && i < addresses_.size(); ++i) {
      const std::vector<std::uint16_t> values(kernel.buffers[i] / 2, 0x3001);
      ok_ = CUDA_TWIN_CALL(cuMemAlloc, &addresses_[i], kernel.buffers[i]) == CUDA_SUCCESS &&
            CUDA_TWIN_CALL(cuMemcpyHtoD, addresses_[i], values.data(), kernel.buffers[i]) ==
                CUDA_SUCCESS;
    }
    for (CUdeviceptr& address : addresses_) arguments_.push_back(&address);
    for (std::uint32_t& constant : kernel_.constants) arguments_.push_back(&constant);
  }
  TwinLaunch(const TwinLaunch&) = delete;
  TwinLaunch& operator=(const TwinLaunch&) = delete;
  ~TwinLaunch() {
    if (cuda_twin().is_there()) CUDA_TWIN_CALL(cuda_twin_reset);
  }

  bool run() {
    ok_ = ok_ &&
          CUDA_TWIN_CALL(cuLaunchKernel, function_, kernel_.grid_x, kernel_.grid_y, 1u,
                         kernel_.block, 1u, 1u, 0u, CUstream{}, arguments_.data(),
                         static_cast<void**>(nullptr)) == CUDA_SUCCESS &&
          CUDA_TWIN_CALL(cuCtxSynchronize) == CUDA_SUCCESS;
    return ok_;
  }

 private:
  TwinKernel kernel_;
  std::vector<CUdeviceptr> addresses_;
  std::vector<void*> arguments_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  bool ok_ = false;
};

void set_checks(const char* value) {
  for (const char* name :
       {"CUDA_TWIN_CHECK_INITIALISED", "CUDA_TWIN_CHECK_RACES", "CUDA_TWIN_CHECK_WARP"}) {
    CUDA_TWIN_CALL(cuda_twin_set, name, value);
  }
}

void run_twin_kernel(benchmark::State& state, const TwinKernel& kernel, bool checked) {
  if (!cuda_twin().is_there()) return state.SkipWithError("there is no twin");
  CUDA_TWIN_CALL(cuda_twin_reset);
  CUDA_TWIN_CALL(cuda_twin_set, "CUDA_TWIN_THREADS", "1");
  set_checks(checked ? "on" : "off");
  TwinLaunch launch(kernel);
  if (!launch.run()) {  // warm-up
    return state.SkipWithError(CUDA_TWIN_CALL(cuda_twin_last_message));
  }
  CUDA_TWIN_CALL(cuda_twin_reset_counts);
  for (auto _ : state) {
    if (!launch.run()) return state.SkipWithError("the launch failed");
  }
  cuda_twin_kernel_counts counts{};
  CUDA_TWIN_CALL(cuda_twin_count_kernel, kernel.name, &counts);
  const auto rate = benchmark::Counter::kIsRate;
  state.counters["warp_instructions"] =
      benchmark::Counter(static_cast<double>(counts.instructions), rate);
  if (kernel.flops > 0) {
    const double flops = kernel.flops * static_cast<double>(state.iterations());
    state.counters["flop"] = benchmark::Counter(flops, rate);
  }
}

const bool kRegistered = [] {
  for (const TwinKernel& kernel : twin_kernels()) {
    for (const bool checked : {false, true}) {
      const std::string name =
          std::string("cuda_twin/") + kernel.name + (checked ? "/checks" : "/no_checks");
      benchmark::RegisterBenchmark(
          name.c_str(),
          [kernel, checked](benchmark::State& state) { run_twin_kernel(state, kernel, checked); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
