// The instructions that the recorder runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/tools/tolerances.h"

namespace cuda_twin_record {

/// One instruction: sets %d from %a, %b and %c. Types are those of the inputs, which pick their
/// values; registers have the same size without a type.
struct Row {
  std::string code;
  std::string out;                 ///< "f32"
  std::vector<std::string> types;  ///< of %a, %b, %c
  std::string version, target;     ///< the oldest that have it
  Tolerance tolerance;
};
/// All of them, by family: each form that has a result.
std::vector<Row> rows();

/// Values of a type for `count` lanes: edges first, then random bits. Another `position` (of the
/// operand) pairs them differently.
std::vector<std::uint64_t> values(const std::string& type, unsigned position, unsigned count);

/// Bits of a type's register: 16, 32 or 64.
unsigned register_bits(const std::string& type);

}  // namespace cuda_twin_record
