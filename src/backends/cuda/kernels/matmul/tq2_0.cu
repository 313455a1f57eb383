#include "backends/cuda/gpu/formats/tq2_0.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(TQ2_0, BlockWeights)
