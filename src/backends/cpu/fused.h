// What is computed at once, in the order in which it is looked for.
#pragma once

#include <span>

#include "backends/cpu/fusion.h"

namespace shunt::cpu {

std::span<const Fusion> fusions();

}  // namespace shunt::cpu
