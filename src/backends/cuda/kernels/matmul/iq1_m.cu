#include "backends/cuda/gpu/formats/iq1_m.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ1_M, BlockWeights)
