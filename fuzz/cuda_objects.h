// The arguments of fuzzed calls of the CUDA twin: handles that earlier calls created, and invalid
// handles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "cuda_twin/control.h"
#include "cuda_twin/driver.h"

namespace shunt::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

/// Bytes of the input, then zeros.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> data) : data_(data) {}
  bool empty() const { return data_.empty(); }
  unsigned next(unsigned below = 256) {
    if (data_.empty()) return 0;
    const unsigned byte = data_.front();
    data_ = data_.subspan(1);
    return byte % below;
  }

 private:
  std::span<const std::uint8_t> data_;
};

/// Host memory of copies. It outlives all work.
alignas(4096) inline std::array<std::byte, 8192> host_bytes;

class CudaObjects {
 protected:
  explicit CudaObjects(Bytes bytes) : bytes_(bytes) {}

  /// One of the objects, or a handle that is none.
  template <class Handle>
  Handle any(const std::vector<Handle>& from) {
    const unsigned byte = bytes_.next();
    if (byte >= 252 || from.empty()) return reinterpret_cast<Handle>(std::uintptr_t{byte} * 977);
    return from[byte % from.size()];
  }
  CUdeviceptr any_address() {
    const unsigned byte = bytes_.next();
    if (byte >= 250 || addresses_.empty()) return byte * 4096ull;
    return addresses_[byte % addresses_.size()];
  }
  /// For calls that take addresses of devices only.
  CUdeviceptr any_device_address() {
    if (mapped_.empty() || bytes_.next(4) != 0) return any_address();
    return mapped_[bytes_.next() % mapped_.size()];
  }
  CUstream stream() { return any(streams_); }
  CUdevice any_device() { return static_cast<CUdevice>(bytes_.next(4)) - 1; }
  template <class Handle>
  void keep(std::vector<Handle>& in, Handle handle, CUresult code) {
    if (code == CUDA_SUCCESS && in.size() < 32) in.push_back(handle);
  }

  Bytes bytes_;
  std::vector<CUcontext> contexts_;
  std::vector<CUmodule> modules_;
  std::vector<CUfunction> functions_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUgraph> graphs_;
  std::vector<CUgraphNode> nodes_;
  std::vector<CUgraphExec> execs_;
  std::vector<CUmemoryPool> pools_;
  std::vector<CUdeviceptr> addresses_;  ///< of memory that only devices reach
  /// Addresses that the host may have given to something else since. No copy takes them for host
  /// memory.
  std::vector<CUdeviceptr> mapped_;
  std::vector<CUmemGenericAllocationHandle> physicals_;
};

}  // namespace shunt::fuzz
