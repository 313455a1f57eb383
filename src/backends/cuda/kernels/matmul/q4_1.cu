#include "backends/cuda/gpu/formats/q4_1.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q4_1, BlockWeights)
