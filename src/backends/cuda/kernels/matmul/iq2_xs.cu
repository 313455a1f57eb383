#include "backends/cuda/gpu/formats/iq2_xs.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ2_XS, BlockWeights)
