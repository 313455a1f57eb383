// The twin of Huawei's CANN libraries, for tests: its folder, its settings, its counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shunt/options.h"

namespace shunt::test {

/// ascend_twin_counter of ascend_twin.h.
enum class AscendCount : int {
  kFirstPhases = 0,
  kSecondPhases = 1,
  kTasks = 2,
  kReplays = 3,
  kCaptures = 4,
  kDrains = 5,
  kCopiesToDevice = 6,
  kCopiesToHost = 7,
  kCopiesWithin = 8,
  kDeviceAllocations = 11,
  kHostAllocations = 12,
  kObjections = 14,
};

/// The twin as after its start: one 910B. The constructor drops all earlier state. It must outlive
/// all registries that use it.
class AscendTwin {
 public:
  /// The libraries of CANN 8.1, or the separate ones of 9.0.
  enum class Layout : std::uint8_t { kWhole, kSplit };

  /// If there is no twin in this build, it is not there().
  explicit AscendTwin(Layout layout = Layout::kWhole);
  /// A copy of the libraries of 8.1 without these functions.
  explicit AscendTwin(const std::vector<std::string>& missing);
  ~AscendTwin();
  AscendTwin(const AscendTwin&) = delete;
  AscendTwin& operator=(const AscendTwin&) = delete;

  /// The folder of a layout; empty if there is no twin in this build.
  static std::string folder_of(Layout layout);

  bool there() const { return library_ != nullptr; }
  const std::string& folder() const { return folder_; }
  /// A registry whose backend for CANN has it.
  Options options() const;
  /// Fails the test if there is no such setting. "PROFILE" is ASCEND_TWIN_PROFILE.
  void set(const std::string& name, const std::string& value);
  /// Drops all streams, objects, memory and counts; settings stay. Not while a registry has the
  /// twin.
  void restart();
  std::uint64_t count(AscendCount counter) const;
  /// Calls of a function of the libraries since the start or restart().
  std::uint64_t calls(const char* function) const;
  /// Objects alive: memory, streams, events, descriptors, executors, captured models.
  std::uint64_t live() const;
  /// Memory that is allocated now.
  struct Allocated {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  Allocated device_memory() const;
  Allocated pinned_memory() const;
  std::uint64_t live_executors() const;
  std::uint64_t live_models() const;
  /// The last objection of strict mode; empty if there was none.
  std::string last_objection() const;
  /// A function of the libraries of this layout.
  template <class F>
  F* find(const char* name) const {
    return reinterpret_cast<F*>(find_symbol(name));
  }

 private:
  void open();
  void reset();
  void* find_symbol(const char* name) const;
  std::uint64_t live(int kind) const;

  std::string folder_;
  std::shared_ptr<void> copy_;  // of the libraries
  void* library_ = nullptr;
};

}  // namespace shunt::test
