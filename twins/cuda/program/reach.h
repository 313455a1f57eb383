// Functions and variables that the kernels of a module reach through calls: which of them shares a
// function or a .shared variable with another.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/ptx/syntax.h"

namespace cuda_twin {

/// By place in Module::functions.
struct Reach {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;  ///< no kernel
  static constexpr std::uint32_t kMany = 0xFFFFFFFEu;  ///< more than one

  std::vector<std::vector<std::uint32_t>> callees;  ///< called, or possible by an address
  std::vector<std::uint32_t> owner;                 ///< the one kernel that reaches it
  /// Module-level .shared variables: the one kernel that reaches it.
  std::unordered_map<std::string, std::uint32_t> variable_owner;
  std::vector<bool> uses_common;  ///< reaches a .shared variable of more than one kernel
};

/// Linear in the module.
Reach reach_of(const ptx::Module& module);

}  // namespace cuda_twin
