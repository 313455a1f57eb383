#include "backends/cuda/gpu/encode.h"

#pragma clang force_cuda_host_device begin
#include "tensor/formats/q2_k.cpp"
#pragma clang force_cuda_host_device end

ENCODE(Q2_K)
