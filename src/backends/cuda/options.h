// The options of CUDA: "cuda.fuse", "cuda.level", "cuda.memory", "cuda.pinned", "cuda.peers",
// "cuda.timeout".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/cuda/target.h"
#include "shunt/registry.h"

namespace shunt::cuda {

/// How a device's memory is allocated.
enum class MemoryKind : std::uint8_t {
  kAuto,     ///< host memory on chips that share it, else mapped if the driver can, else plain
  kMapped,   ///< reserved addresses, and memory mapped there
  kPlain,    ///< cuMemAlloc
  kManaged,  ///< moved between host and device by the driver: may exceed the device's memory
  kHost,     ///< of the host; only for chips that share it
};

struct CudaOptions {
  std::optional<Level> level = {};  ///< none: the highest one of each device
  MemoryKind memory = MemoryKind::kAuto;
  bool fuse = true;    ///< nodes into one launch
  bool pinned = true;  ///< copies by way of pinned host memory
  bool peers = true;   ///< direct copies between devices
  /// A device that makes the host wait longer is lost.
  std::chrono::milliseconds timeout{};
};

std::span<const BackendOption> option_table();
/// Of options whose settings were checked.
CudaOptions parse_options(const Options& options);

}  // namespace shunt::cuda
