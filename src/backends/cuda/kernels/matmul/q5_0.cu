#include "backends/cuda/gpu/formats/q5_0.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q5_0, BlockWeights)
