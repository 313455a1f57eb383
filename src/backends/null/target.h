#pragma once

namespace shunt::null {

/// The facts about the machine that kernels must know. A real backend has the chip and the version
/// of its library here.
struct NullTarget {};

}  // namespace shunt::null
