#include "backends/cuda/gpu/formats/q8_1.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q8_1, BlockWeights)
