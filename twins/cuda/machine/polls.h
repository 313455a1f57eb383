// Loops that read memory until another block, or the host, changes it.
#pragma once

#include <cstdint>

namespace cuda_twin {

/// The last strong reads of a warp.
struct Polls {
  struct Read {
    std::uint32_t op = 0xFFFFFFFFu;
    std::uint64_t fingerprint = 0;
    std::uint64_t at = 0;  ///< Warp::instructions
  };
  Read last[8];               ///< by op
  std::uint32_t repeats = 0;  ///< reads in sequence that gave nothing new

  /// A strong read of global memory: lanes, addresses and values are in its fingerprint; `at`
  /// counts the warp's instructions.
  void add(std::uint32_t op, std::uint64_t fingerprint, std::uint64_t at);
  /// The reads give the same again and again.
  bool wait() const;
};

}  // namespace cuda_twin
