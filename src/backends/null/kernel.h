// A kernel of this backend. A real one adds a `launch` here, with the arguments of its vendor's
// library.
#pragma once

#include <span>

#include "backends/null/target.h"
#include "device/kernel_table.h"

namespace shunt::null {

class NullKernel : public Kernel<NullTarget> {};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const NullKernel* const>;

}  // namespace shunt::null
