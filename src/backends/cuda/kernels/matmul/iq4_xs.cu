#include "backends/cuda/gpu/formats/iq4_xs.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ4_XS, BlockWeights)
