// The types and state spaces of PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cuda_twin::ptx {

enum class Type : std::uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kBf16,
  kTf32,
  kF32,
  kF64,
  kF16x2,
  kBf16x2,
  kU16x2,
  kS16x2,
  kE4m3,
  kE5m2,
  kE4m3x2,
  kE5m2x2,
  kF32x2,
  kE2m1x2,
  kE2m3x2,
  kE3m2x2,
  kUe8m0x2,
  kE4m3x4,
  kE5m2x4,
  kE2m1x4,
  kE2m3x4,
  kE3m2x4,
};  // clang-format off keeps the groups

enum class Kind : std::uint8_t { kNone, kPred, kBits, kUnsigned, kSigned, kFloat };

/// Size in bits; 1 for kPred, 0 for kNone. A tf32 value takes 32 bits.
unsigned bits_of(Type type);
Kind kind_of(Type type);
/// As PTX writes it, without the dot: "f16x2".
std::string_view name_of(Type type);
std::optional<Type> type_named(std::string_view name);

/// kGeneric is the absence of a state space in ld, st, atom and red.
enum class Space : std::uint8_t { kRegister, kGeneric, kGlobal, kShared, kLocal, kConst, kParam };
std::string_view name_of(Space space);

/// PTX ISA version or .target: 7.0 is {7, 0}. sm_90a is {90, 'a'}.
struct Version {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
struct Target {
  int sm = 0;          ///< 80 for sm_80
  char suffix = '\0';  ///< 'a': runs on that capability only; 'f': on later ones of its family too
};

}  // namespace cuda_twin::ptx
