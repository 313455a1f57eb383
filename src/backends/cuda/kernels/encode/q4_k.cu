#include "backends/cuda/gpu/encode.h"

#pragma clang force_cuda_host_device begin
#include "tensor/formats/q4_k.cpp"
#pragma clang force_cuda_host_device end

ENCODE(Q4_K)
