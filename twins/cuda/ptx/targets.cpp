#include "cuda/ptx/targets.h"

#include <algorithm>
#include <array>

namespace cuda_twin::ptx {
namespace {

struct TargetRow {
  int sm;
  Version plain, specific, family;  ///< first .version of sm_N, sm_Na, sm_Nf; 0.0: none has it
};
/// From the notes on .target and the release notes of the PTX document.
constexpr std::array<TargetRow, 30> kTargets{{
    {10, {1, 0}, {}, {}},          {11, {1, 0}, {}, {}},          {12, {1, 2}, {}, {}},
    {13, {1, 2}, {}, {}},          {20, {2, 0}, {}, {}},          {30, {3, 0}, {}, {}},
    {32, {4, 0}, {}, {}},          {35, {3, 1}, {}, {}},          {37, {4, 1}, {}, {}},
    {50, {4, 0}, {}, {}},          {52, {4, 1}, {}, {}},          {53, {4, 2}, {}, {}},
    {60, {5, 0}, {}, {}},          {61, {5, 0}, {}, {}},          {62, {5, 0}, {}, {}},
    {70, {6, 0}, {}, {}},          {72, {6, 1}, {}, {}},          {75, {6, 3}, {}, {}},
    {80, {7, 0}, {}, {}},          {86, {7, 1}, {}, {}},          {87, {7, 4}, {}, {}},
    {88, {9, 0}, {}, {}},          {89, {7, 8}, {}, {}},          {90, {7, 8}, {8, 0}, {}},
    {100, {8, 6}, {8, 6}, {8, 8}}, {101, {8, 6}, {8, 6}, {8, 8}}, {103, {8, 8}, {8, 8}, {8, 8}},
    {110, {9, 0}, {9, 0}, {9, 0}}, {120, {8, 7}, {8, 7}, {8, 8}}, {121, {8, 8}, {8, 8}, {8, 8}},
}};

}  // namespace

std::string name_of(const Target& target) {
  std::string name = "sm_" + std::to_string(target.sm);
  if (target.suffix != '\0') name += target.suffix;
  return name;
}

std::optional<NamedTarget> target_named(std::string_view name) {
  for (const TargetRow& row : kTargets) {
    for (const NamedTarget& one :
         {NamedTarget{{row.sm, '\0'}, row.plain}, NamedTarget{{row.sm, 'a'}, row.specific},
          NamedTarget{{row.sm, 'f'}, row.family}}) {
      if (one.needed.major != 0 && name_of(one.target) == name) return one;
    }
  }
  return std::nullopt;
}

bool is_target_option(std::string_view name) {
  constexpr std::array<std::string_view, 3> kOptions{"texmode_unified", "texmode_independent",
                                                     "debug"};
  return std::ranges::find(kOptions, name) != kOptions.end();
}

bool runs_on(const Target& target, int sm) {
  if (target.suffix == 'a') return target.sm == sm;
  const bool family = target.sm / 10 == sm / 10;
  return target.sm <= sm && (target.suffix == '\0' || family);
}

}  // namespace cuda_twin::ptx
