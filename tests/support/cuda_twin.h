// The twin of NVIDIA's driver, for tests: its path, its settings, its counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shunt/options.h"

namespace shunt::test {

/// Counts of a kernel's launches (cuda_twin_kernel_counts in cuda_twin/control.h).
struct KernelCounts {
  std::uint64_t launches, blocks, instructions, kinds[13];
  std::uint64_t bytes_read, bytes_written;  ///< of global memory, by all lanes
  std::uint64_t sectors;                    ///< of 32 bytes
  std::uint64_t bank_conflicts;
  std::uint64_t worst_bank_conflict;   ///< extra passes of one access
  std::uint64_t blocks_without_write;  ///< to global memory
  std::uint64_t parameter_sets;        ///< different parameters of a kernel's launches
};

/// The twin as after its start, with one device. The constructor drops all earlier state. It must
/// outlive all registries that use it.
class CudaTwin {
 public:
  /// If there is no twin in this build, it is not there().
  CudaTwin();
  /// A copy of the library without these functions. A lookup of their names fails.
  explicit CudaTwin(const std::vector<std::string>& missing);
  ~CudaTwin();
  CudaTwin(const CudaTwin&) = delete;
  CudaTwin& operator=(const CudaTwin&) = delete;

  bool there() const { return library_ != nullptr; }
  const std::string& path() const { return path_; }
  /// A registry whose CUDA backend has it.
  Options options() const;
  /// Fails the test if there is no such setting.
  void set(const char* name, const char* value);
  /// Drops all contexts, objects, findings and lost devices; settings stay. Not while a registry
  /// has the twin.
  void restart();
  /// Objects alive on all devices: allocations, pinned allocations, streams, events, modules.
  std::uint64_t live() const;
  /// Objects alive, by a number of cuda_twin_live.
  std::uint64_t live(int kind) const;
  /// Calls of a function of the driver since the start.
  std::uint64_t calls(const char* function) const;
  /// Copies directly from one device to another since the start.
  std::uint64_t copies_between_devices() const;
  /// Since the start or restart(). Zeros if no such kernel ran.
  KernelCounts counts(const std::string& kernel) const { return count(kernel.c_str()); }
  /// The same of all kernels together.
  KernelCounts all_counts() const { return count(nullptr); }
  /// The findings of the checks, as "check: text".
  std::vector<std::string> findings() const;

 private:
  void open();
  void reset();
  KernelCounts count(const char* kernel) const;
  template <class F>
  F* find(const char* name) const;

  std::string path_;
  std::shared_ptr<void> folder_;  // of a copy
  void* library_ = nullptr;
};

}  // namespace shunt::test
