/* The twin's own functions, for tests. */
#ifndef ABACUS_TWIN_H
#define ABACUS_TWIN_H

#include <stdbool.h>

#include "abacus.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum abacus_twin_counter {
  ABACUS_TWIN_ADDITIONS = 0,
  ABACUS_TWIN_OBJECTIONS = 1
} abacus_twin_counter;

uint64_t abacus_twin_count(abacus_twin_counter counter);
/* Settings as the environment has them, and counters at 0. */
void abacus_twin_reset(void);
bool abacus_twin_set(const char* name, const char* value);
const char* abacus_twin_last_message(void);

#ifdef __cplusplus
}
#endif
#endif
