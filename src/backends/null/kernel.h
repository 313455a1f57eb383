// A kernel of this backend. A real one adds a `launch` here, with what its vendor's library
// takes.
#pragma once

#include <span>

#include "device/kernel_table.h"

namespace shunt::null {

/// What kernels must know of the machine. A real backend has the chip and the version of its
/// library here.
struct NullTarget {};

class NullKernel : public Kernel<NullTarget> {};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const NullKernel* const>;

}  // namespace shunt::null
