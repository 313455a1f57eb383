#pragma once

namespace shunt::null {

/// What kernels must know of the machine. A real backend has the chip and the version of its
/// library here.
struct NullTarget {};

}  // namespace shunt::null
