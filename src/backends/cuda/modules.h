// The kernels as PTX, which the driver turns into machine code for its device.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "backends/cuda/driver.h"
#include "backends/cuda/target.h"
#include "shunt/device.h"

namespace shunt::cuda {

/// One compiled file of kernels.
struct ModuleText {
  std::string_view name;   ///< "rms_norm", of kernels/rms_norm.cu
  std::string_view level;  ///< LevelRow::name
  const char* ptx = nullptr;
};

/// Whether this build has kernels: it has none if there was no suitable compiler.
bool has_modules();

/// The modules of one context. Loaded when they are first asked for. Thread-safe.
class Modules {
 public:
  explicit Modules(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;
  ~Modules();

  /// Loads a file's module, unless it is loaded: that of the highest level up to `level`.
  /// Unsupported if this build lacks it; Device, with the driver's log, if the driver refuses it.
  Status load(std::string_view module, Level level);
  /// A kernel of a file, which is loaded if necessary. If its stacks are larger than those of all
  /// kernels before, the driver takes memory for them now: OutOfMemory if the device is full.
  Result<FunctionHandle> find(std::string_view module, Level level, const std::string& kernel);
  /// Blocks of a kernel that a multiprocessor runs at once, at least 1. `threads`: of a block.
  Result<int> blocks_at_once(FunctionHandle function, unsigned threads);
  /// The modules so far, and the time that the driver took for them, and for any that it refused.
  LoadedKernels loaded() const;
  /// The device's memory that the driver took for modules so far: `code` for their machine code,
  /// `workspace` for stacks. Measured as the change of free memory, so other work that allocates at
  /// the same time is part of it.
  OwnMemory memory() const;

 private:
  Result<ModuleHandle> load_locked(std::string_view module, Level level);
  Result<FunctionHandle> find_locked(ModuleHandle module, const std::string& kernel);
  Status reserve_stacks(FunctionHandle function);

  std::shared_ptr<Context> context_;
  mutable std::mutex mutex_;
  std::map<const ModuleText*, ModuleHandle> loaded_;
  std::map<std::pair<ModuleHandle, std::string>, FunctionHandle> functions_;
  std::map<std::pair<FunctionHandle, unsigned>, int> blocks_at_once_;
  double seconds_ = 0;
  OwnMemory memory_;
  std::size_t stack_bytes_ = 0;  // of a thread, that are known to be there
};

}  // namespace shunt::cuda
