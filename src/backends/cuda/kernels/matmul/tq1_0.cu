#include "backends/cuda/gpu/formats/tq1_0.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(TQ1_0, BlockWeights)
