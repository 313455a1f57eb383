// The devices of a test that runs on the CPU, and on the twins of others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/registry.h"
#include "support/ascend_twin.h"
#include "support/cuda_twin.h"

namespace shunt::test {

/// Names of devices for the parameter of such a test.
inline constexpr std::string_view kTestedDevices[] = {"cpu0", "cuda0", "cann0"};
/// Those that leave out what follows a bad index. Others compute it with the nearest good one.
inline constexpr std::string_view kStoppingDevices[] = {"cpu0", "cuda0"};

/// A device by name, then the CPU, which has `threads`. Graphs should run by ability
/// (GraphRunOptions), as the rules of placement may prefer the CPU.
class TestedDevices {
 public:
  explicit TestedDevices(std::string_view name, int threads = 0);

  /// Empty if the build lacks one of them.
  const std::vector<Device*>& list() const { return devices_; }

 private:
  std::optional<CudaTwin> cuda_;  // twins outlive the registry
  std::optional<AscendTwin> ascend_;
  std::unique_ptr<Registry> registry_;
  std::vector<Device*> devices_;
};

}  // namespace shunt::test
