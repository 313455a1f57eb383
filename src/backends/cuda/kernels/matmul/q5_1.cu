#include "backends/cuda/gpu/formats/q5_1.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q5_1, BlockWeights)
