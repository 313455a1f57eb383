// What a kernel of this backend is. A real one adds a `launch` here, with what its vendor's library
// takes.
#pragma once

#include <span>

#include "device/kernel_table.h"

namespace shunt::null {

class NullKernel : public Kernel {};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const NullKernel* const>;

}  // namespace shunt::null
