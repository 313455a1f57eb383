/* The type of enumerators: an argument may hold a number that has no name. */
#ifndef CUDA_TWIN_ENUM_H
#define CUDA_TWIN_ENUM_H

#include <stdint.h>

#ifdef __cplusplus
#define CUDA_TWIN_ENUM : uint32_t
#else
#define CUDA_TWIN_ENUM
#endif

#endif
