// Operands of the instructions that the recorder runs: edges of each type, then random bits.
#include <span>

#include "cuda/tools/instructions.h"

namespace cuda_twin_record {
namespace {

const std::uint64_t kF32[] = {0x3F800000, 0x00000000, 0x80000000, 0x00000001, 0x807FFFFF,
                              0x00800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
                              0x7F800001, 0x3F7FFFFF, 0x40490FDB, 0xC2C80000, 0x4B7FFFFF};
const std::uint64_t kF64[] = {0x3FF0000000000000, 0x0000000000000000, 0x8000000000000000,
                              0x0000000000000001, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
                              0x7FF0000000000000, 0xFFF8000000000001, 0x3FEFFFFFFFFFFFFF,
                              0xC00921FB54442D18, 0x36A0000000000000};
const std::uint64_t kF16[] = {0x3C00, 0x0000, 0x8000, 0x0001, 0x83FF, 0x0400,
                              0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x3BFF, 0x4248};
const std::uint64_t kBf16[] = {0x3F80, 0x0000, 0x8000, 0x0001, 0x807F, 0x0080,
                               0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x3F7F, 0x4049};
const std::uint64_t kIntegers[] = {0,
                                   1,
                                   0xFFFFFFFFFFFFFFFF,
                                   0x7FFFFFFF,
                                   0x80000000,
                                   0x7FFFFFFFFFFFFFFF,
                                   0x8000000000000000,
                                   0x80,
                                   0xFFFFFF7F,
                                   0x12345678,
                                   31,
                                   0x8080807F};
// Numbers whose sums of products are finite, and rounded in many ways.
const std::uint64_t kFiniteF16[] = {0x3C00, 0x3BFF, 0xBC01, 0x0001, 0x9400, 0x4A37, 0x3555,
                                    0xC9FF, 0x0000, 0x13FF, 0xB801, 0x2E66, 0x5BFF};
const std::uint64_t kFiniteBf16[] = {0x3F80, 0x3F7F, 0xBF81, 0x3301, 0xB380, 0x4337, 0x3EAB,
                                     0xC2FF, 0x0000, 0x33FF, 0xBE01, 0x3DCD, 0x47FF};
const std::uint64_t kFiniteF32[] = {0x3F800000, 0x3F7FFFFF, 0xBF812345, 0x33012345, 0xB3800000,
                                    0x43377777, 0x3EAAAAAB, 0xC2FFFFFF, 0x00000000, 0x33FFE001,
                                    0xBE012000, 0x3DCCCCCD, 0x47FFFFFF};
const std::uint64_t kLaneNumbers[] = {0, 1, 7, 15, 16, 30, 31};
const std::uint64_t kSteps[] = {0, 1, 2, 5, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFF0};
const std::uint64_t kCounts[] = {0, 1, 31, 32, 33, 63, 64, 255, 256, 0xFFFFFFFF, 8, 16};

struct Values {
  const char* type;
  unsigned bits;    ///< of an element
  bool is_pair;     ///< two elements in 32 bits
  bool only_edges;  ///< else random bits follow them
  std::span<const std::uint64_t> edges;
};
const Values kTypes[] = {
    {"f32", 32, false, false, kF32},
    {"f64", 64, false, false, kF64},
    {"f16", 16, false, false, kF16},
    {"f16x2", 16, true, false, kF16},
    {"bf16", 16, false, false, kBf16},
    {"bf16x2", 16, true, false, kBf16},
    {"finite_f16x2", 16, true, true, kFiniteF16},
    {"finite_bf16x2", 16, true, true, kFiniteBf16},
    {"finite_f32", 32, false, true, kFiniteF32},
    {"b16", 16, false, false, kIntegers},
    {"u16", 16, false, false, kIntegers},
    {"s16", 16, false, false, kIntegers},
    {"b32", 32, false, false, kIntegers},
    {"u32", 32, false, false, kIntegers},
    {"s32", 32, false, false, kIntegers},
    {"u16x2", 16, true, false, kIntegers},
    {"s16x2", 16, true, false, kIntegers},
    {"b64", 64, false, false, kIntegers},
    {"u64", 64, false, false, kIntegers},
    {"s64", 64, false, false, kIntegers},
    {"count", 32, false, false, kCounts},
    {"lane", 32, false, true, kLaneNumbers},
    {"step", 32, false, true, kSteps},
};

const Values& type_of(const std::string& type) {
  for (const Values& row : kTypes) {
    if (type == row.type) return row;
  }
  return kTypes[0];
}

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

std::uint64_t element(const Values& type, std::uint64_t index, unsigned position) {
  // Edges of one operand meet all edges of the next.
  const std::uint64_t n = type.edges.size();
  const std::uint64_t edge = position == 0 ? index % n : index / n + index * position;
  const bool is_edge = type.only_edges || index < n * n;
  const std::uint64_t bits = is_edge ? type.edges[edge % n] : mixed(index * 4 + position + 1);
  return type.bits == 64 ? bits : bits & ((std::uint64_t{1} << type.bits) - 1);
}

}  // namespace

std::vector<std::uint64_t> values(const std::string& type, unsigned position, unsigned count) {
  const Values& row = type_of(type);
  std::vector<std::uint64_t> made;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t bits = element(row, i, position);
    if (row.is_pair) bits |= element(row, i + 7, position) << 16;
    made.push_back(bits);
  }
  return made;
}

unsigned register_bits(const std::string& type) {
  const Values& row = type_of(type);
  return row.is_pair ? 32 : row.bits;
}

}  // namespace cuda_twin_record
