#include "backends/cuda/gpu/formats/iq2_xxs.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ2_XXS, BlockWeights)
