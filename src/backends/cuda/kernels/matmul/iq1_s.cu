#include "backends/cuda/gpu/formats/iq1_s.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ1_S, BlockWeights)
