#include "backends/cuda/gpu/formats/mxfp4.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(MXFP4, BlockWeights)
