#include "backends/cuda/gpu/formats/q4_0.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q4_0, BlockWeights)
