/* The interface of a library that does not exist. */
#ifndef ABACUS_H
#define ABACUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum abacus_status {
  ABACUS_OK = 0,
  ABACUS_INVALID_VALUE = 1,
  ABACUS_OUT_OF_MEMORY = 2,
  ABACUS_STUCK = 7,
  ABACUS_UNKNOWN = 999
} abacus_status;

const char* abacus_version(void);
abacus_status abacus_add(int32_t a, int32_t b, int32_t* sum);
abacus_status abacus_log(double x, double* result);
/* The sum of 1 to `count`, bead by bead. */
abacus_status abacus_sum(size_t count, uint64_t* sum);
/* Writes `value` to each byte of `page`, 4096 bytes at a multiple of 4096. */
abacus_status abacus_store(void* page, uint8_t value);
/* The first byte of a page that abacus_store() wrote. Since version 2. */
abacus_status abacus_load(const void* page, uint8_t* value);

#ifdef __cplusplus
}
#endif
#endif
