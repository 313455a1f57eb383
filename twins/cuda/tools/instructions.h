// The instructions that the recorder runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cuda_twin_record {

/// One instruction: sets %d from %a, %b and %c. Types are those of the inputs, which pick their
/// values; registers have the same size without a type.
struct Row {
  const char* code;
  const char* out;                 ///< "f32"
  std::vector<const char*> types;  ///< of %a, %b, %c
};
std::span<const Row> rows();

/// Values of a type for `count` lanes: edges first, then random bits. Another `position` (of the
/// operand) pairs them differently.
std::vector<std::uint64_t> values(const std::string& type, unsigned position, unsigned count);

/// Bits of a type's register: 16, 32 or 64.
unsigned register_bits(const std::string& type);

}  // namespace cuda_twin_record
