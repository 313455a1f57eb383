// Encoders that take a block's extremes.
#include "backends/cuda/gpu/encode.h"

#pragma clang force_cuda_host_device begin
#include "tensor/formats/q4_0.cpp"
#include "tensor/formats/q4_1.cpp"
#include "tensor/formats/q5_0.cpp"
#include "tensor/formats/q5_1.cpp"
#include "tensor/formats/q8_0.cpp"
#include "tensor/formats/tq1_0.cpp"
#include "tensor/formats/tq2_0.cpp"
#pragma clang force_cuda_host_device end

ENCODE(Q4_0)
ENCODE(Q4_1)
ENCODE(Q5_0)
ENCODE(Q5_1)
ENCODE(Q8_0)
ENCODE(TQ1_0)
ENCODE(TQ2_0)
