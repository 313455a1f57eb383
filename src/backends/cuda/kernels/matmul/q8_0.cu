#include "backends/cuda/gpu/formats/q8_0.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q8_0, BlockWeights)
