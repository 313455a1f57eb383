#include "cuda/ptx/types.h"

#include <array>

namespace cuda_twin::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  unsigned bits;
  Kind kind;
};

/// In the order of Type.
constexpr std::array<TypeRow, 38> kTypes{{
    {"", 0, Kind::kNone},         {"pred", 1, Kind::kPred},       {"b8", 8, Kind::kBits},
    {"b16", 16, Kind::kBits},     {"b32", 32, Kind::kBits},       {"b64", 64, Kind::kBits},
    {"b128", 128, Kind::kBits},   {"u8", 8, Kind::kUnsigned},     {"u16", 16, Kind::kUnsigned},
    {"u32", 32, Kind::kUnsigned}, {"u64", 64, Kind::kUnsigned},   {"s8", 8, Kind::kSigned},
    {"s16", 16, Kind::kSigned},   {"s32", 32, Kind::kSigned},     {"s64", 64, Kind::kSigned},
    {"f16", 16, Kind::kFloat},    {"bf16", 16, Kind::kFloat},     {"tf32", 32, Kind::kFloat},
    {"f32", 32, Kind::kFloat},    {"f64", 64, Kind::kFloat},      {"f16x2", 32, Kind::kFloat},
    {"bf16x2", 32, Kind::kFloat}, {"u16x2", 32, Kind::kUnsigned}, {"s16x2", 32, Kind::kSigned},
    {"e4m3", 8, Kind::kFloat},    {"e5m2", 8, Kind::kFloat},      {"e4m3x2", 16, Kind::kFloat},
    {"e5m2x2", 16, Kind::kFloat}, {"f32x2", 64, Kind::kFloat},    {"e2m1x2", 8, Kind::kFloat},
    {"e2m3x2", 16, Kind::kFloat}, {"e3m2x2", 16, Kind::kFloat},   {"ue8m0x2", 16, Kind::kFloat},
    {"e4m3x4", 32, Kind::kFloat}, {"e5m2x4", 32, Kind::kFloat},   {"e2m1x4", 16, Kind::kFloat},
    {"e2m3x4", 32, Kind::kFloat}, {"e3m2x4", 32, Kind::kFloat},
}};

const TypeRow& row_of(Type type) {
  return kTypes[static_cast<std::size_t>(type)];
}

constexpr std::array<std::string_view, 7> kSpaces{"reg",   "generic", "global", "shared",
                                                  "local", "const",   "param"};

}  // namespace

unsigned bits_of(Type type) {
  return row_of(type).bits;
}
Kind kind_of(Type type) {
  return row_of(type).kind;
}
std::string_view name_of(Type type) {
  return row_of(type).name;
}

std::optional<Type> type_named(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<Type>(i);
  }
  return std::nullopt;
}

std::string_view name_of(Space space) {
  return kSpaces[static_cast<std::size_t>(space)];
}

}  // namespace cuda_twin::ptx
