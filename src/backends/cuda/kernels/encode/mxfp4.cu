#include "backends/cuda/gpu/encode.h"

#pragma clang force_cuda_host_device begin
#include "tensor/formats/mxfp4.cpp"
#pragma clang force_cuda_host_device end

ENCODE(MXFP4)
