#include "backends/cuda/gpu/formats/q5_k.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q5_K, BlockWeights)
