// Which virtual registers may share a slot of the frame: those whose live ranges do not overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/program/op.h"

namespace cuda_twin {

/// Reads and writes of a function's virtual registers, in order.
struct Usage {
  struct Access {
    std::uint32_t instruction = 0;
    std::uint32_t reg = 0;
    bool write = false;
    bool always = false;  ///< a write without a guard: the old value is dead before it
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;
  };
  std::vector<std::uint16_t> bytes;  ///< of each virtual register; 0: a predicate
  std::vector<Access> accesses;      ///< by instruction
  std::vector<Edge> edges;           ///< branches
  std::vector<std::uint32_t> ends;   ///< instructions that never go on with the next one
  std::uint32_t instructions = 0;

  /// An access by the instruction that is bound now.
  void add(std::uint32_t reg, bool write, bool always) {
    accesses.push_back({instructions, reg, write, always});
  }
};

struct Slots {
  std::vector<std::uint32_t> offset;  ///< of each virtual register; of a predicate its index
  std::uint32_t register_bytes = 0;
  std::uint32_t predicates = 0;
};

/// Registers of one lane are only touched by that lane, which runs the function in order whatever
/// the other lanes do. So liveness is that of one thread, and a guarded write keeps the old value
/// alive. A register that an instruction reads does not share bytes with another that it writes:
/// handlers write lanes while they read others. Linear in the function: where the sets would be too
/// large, ranges become longer.
Slots place(const Usage& usage);

}  // namespace cuda_twin
