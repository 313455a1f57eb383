// A program of some 230 calls that uses nearly all of the driver: for tests that fail each call.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "vectors.h"

namespace twin_test {

/// Ways in which a call can fail by request: bits.
enum CallKind : unsigned {
  kAllocates = 1,  ///< memory of a device
  kPins = 2,
  kLoads = 4,  ///< a module
  kLaunches = 8,
  kCopies = 16,
  kInstantiates = 32,
  kWorks = 64,         ///< gives the device work
  kWaits = 128,        ///< waits for all work so far, and reports its errors
  kTakesMemory = 256,  ///< fails on a full device
};

struct DriverCall {
  const char* name;  ///< as cuGetProcAddress has it; null: a check of results
  unsigned kinds;
  std::function<CUresult()> make;
};

class LongProgram {
 public:
  LongProgram();
  LongProgram(const LongProgram&) = delete;
  LongProgram& operator=(const LongProgram&) = delete;

  struct Ending {
    std::size_t call = 0;  ///< the one that failed; the number of calls if none did
    CUresult code = CUDA_SUCCESS;
  };
  /// Makes the calls from `first` on, until one fails.
  Ending run(std::size_t first = 0) const;
  /// Calls that end all objects, whatever was reached; their results do not matter.
  void end();
  const std::vector<DriverCall>& calls() const { return calls_; }

 private:
  static constexpr unsigned kCount = 64;
  static constexpr std::size_t kBytes = kCount * sizeof(unsigned);
  static constexpr std::size_t kBlock = std::size_t{2} << 20;
  using Words = std::array<unsigned, kCount>;

  void add(const char* name, unsigned kinds, std::function<CUresult()> make) {
    calls_.push_back({name, kinds, std::move(make)});
  }
  /// All of the words must have this value.
  void expect(const unsigned* words, unsigned value);

  // In this order, each after those before.
  void add_devices();
  void add_contexts();
  void add_modules();
  void add_streams();
  void add_memory();
  void add_fills();
  void add_copies();
  void add_asynchronous_work();
  void add_launches();
  void add_pools();
  void add_virtual_memory();
  void add_capture();
  void add_nodes();
  void add_edges();
  void add_node_parameters();
  void add_graph_launches();
  void add_ends();

  /// A place that no other step writes.
  CUdeviceptr slot(std::size_t number) const { return other_ + number * kBytes; }
  CUresult launch(CUdeviceptr address, CUstream stream) const;
  CUDA_MEMCPY2D rows(bool to_device);
  static CUDA_MEMCPY3D box(CUdeviceptr to, CUdeviceptr from);
  static CUDA_MEMCPY3D_PEER peer_box(CUdeviceptr to, CUdeviceptr from, CUcontext context);
  static CUmemPoolProps pool_props();
  static CUmemAllocationProp memory_props();
  static CUmemAccessDesc full_access();
  CUDA_KERNEL_NODE_PARAMS kernel_params(CUdeviceptr* address);
  static CUDA_MEMSET_NODE_PARAMS fill_params(CUdeviceptr to, unsigned value);
  static CUDA_MEMCPY3D flat_copy(CUdeviceptr to, CUdeviceptr from);
  static CUDA_HOST_NODE_PARAMS host_params(unsigned* calls);
  void end_graphs();
  void end_memory();

  std::vector<DriverCall> calls_;
  std::string text_ = vector_kernels();
  std::array<char, 64> name_{};
  int number_ = 0, other_number_ = 0;
  unsigned flags_ = 0;
  unsigned long long wide_ = 0;
  std::size_t size_ = 0, other_size_ = 0;
  float milliseconds_ = 0;

  CUcontext context_ = nullptr, extra_ = nullptr, asked_ = nullptr;
  CUmodule module_ = nullptr, spare_ = nullptr;
  CUfunction add_one_ = nullptr, reverse_ = nullptr;
  CUstream main_ = nullptr, side_ = nullptr;
  CUevent forked_ = nullptr, joined_ = nullptr;

  CUdeviceptr plain_ = 0, other_ = 0, pitched_ = 0, managed_ = 0, word_ = 0, found_ = 0;
  std::size_t pitch_ = 0;
  void *pinned_ = nullptr, *mapped_ = nullptr;
  Words registered_{}, from_{}, to_{};
  unsigned host_calls_ = 0;

  CUmemoryPool pool_ = nullptr, usual_ = nullptr;
  CUdeviceptr async_ = 0, pooled_ = 0, reserved_ = 0;
  CUmemGenericAllocationHandle physical_ = 0, again_ = 0;

  CUgraph captured_ = nullptr, graph_ = nullptr, child_ = nullptr, clone_ = nullptr,
          inner_ = nullptr;
  CUgraphExec captured_exec_ = nullptr, exec_ = nullptr, spare_exec_ = nullptr;
  CUdeviceptr in_capture_ = 0, in_graph_ = 0;
  CUgraphNode fill_ = nullptr, kernel_ = nullptr, copy_ = nullptr, host_ = nullptr,
              nested_ = nullptr, allocate_ = nullptr, scratch_ = nullptr, free_ = nullptr,
              record_ = nullptr, wait_ = nullptr, empty_ = nullptr, last_ = nullptr, any_ = nullptr,
              extra_node_ = nullptr;
};

}  // namespace twin_test
