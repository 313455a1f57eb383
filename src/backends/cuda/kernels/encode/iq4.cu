#include "backends/cuda/gpu/encode.h"

#pragma clang force_cuda_host_device begin
#include "tensor/formats/iq4_nl.cpp"
#include "tensor/formats/iq4_xs.cpp"
#pragma clang force_cuda_host_device end

ENCODE(IQ4_NL)
ENCODE(IQ4_XS)
