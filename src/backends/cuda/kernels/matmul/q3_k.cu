#include "backends/cuda/gpu/formats/q3_k.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q3_K, BlockWeights)
