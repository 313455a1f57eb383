// From the structures and arguments of copies to CopyWork.
#pragma once

#include "cuda/driver/state.h"

namespace cuda_twin {

/// A flat copy of `bytes`.
CopyWork flat_copy(std::uint64_t to, CopyWork::Side to_side, std::uint64_t from,
                   CopyWork::Side from_side, std::uint64_t bytes);
CUresult copy_of(const CUDA_MEMCPY2D* copy, CopyWork& work);
CUresult copy_of(const CUDA_MEMCPY3D* copy, CopyWork& work);
CUresult copy_of(const CUDA_MEMCPY3D_PEER* copy, CopyWork& work);

/// Addresses of devices must be live, pitches at least a row. CUDA_ERROR_INVALID_VALUE otherwise.
CUresult check_copy(const CopyWork& work);
/// Whether it reads or writes pageable memory of the host.
bool from_pageable(const CopyWork& work);
bool to_pageable(const CopyWork& work);

}  // namespace cuda_twin
