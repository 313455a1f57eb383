// Levels of vector code: which entry of a table of functions a call takes. A device has one, and
// passes it on with each call, so that devices of different levels work at once.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shunt::cpu::simd {

/// The properties of a level. Those of a machine are rows of one table: level.cpp.
struct LevelRow {
  std::string_view name;
  std::int64_t targets = 0;   ///< of Highway: the level needs one of them
  bool (*there)() = nullptr;  ///< whether the machine meets its other needs; null: yes
  bool tiles = false;         ///< AMX
  bool avx2_vnni = false;     ///< Highway has no such target: its own is AVX2 then
  std::uint64_t entries = 0;  ///< of Highway's tables that it may use, a bit each
};
extern const std::array<LevelRow, 8> kLevels;  // best first; the last is "scalar"

/// A level that this machine can run.
class Level {
 public:
  /// "scalar", which every machine has.
  Level() = default;
  /// The best of this machine.
  static Level best();
  /// The level of that name; nothing if this machine has none of that name.
  static std::optional<Level> find(std::string_view name);

  std::string_view name() const { return row_->name; }
  /// Whether there are tiles (tiles.h). Vector code is that of "avx3_dl" then.
  bool has_tiles() const { return row_->tiles; }
  /// Whether products of bytes are those of avx2_vnni.h.
  bool is_avx2_vnni() const { return row_->avx2_vnni; }
  /// Whether code of the level of that name may be used: the machine has it, and it isn't above.
  bool allows(std::string_view name) const;
  /// The entry that it takes of a table with these entries, of which the last is always there.
  std::size_t entry(std::uint64_t compiled) const {
    return static_cast<std::size_t>(std::countr_zero(row_->entries & compiled));
  }
  bool operator==(const Level&) const = default;

 private:
  explicit Level(const LevelRow& row) : row_(&row) {}
  const LevelRow* row_ = &kLevels.back();
};

/// Names of the levels that this machine can run, best first: "amx", "avx3_dl", "avx3",
/// "avx2_vnni", "avx2", "sse4", "scalar" on x86-64; "neon", "scalar" on aarch64; "scalar"
/// elsewhere.
std::vector<std::string_view> levels();

}  // namespace shunt::cpu::simd
