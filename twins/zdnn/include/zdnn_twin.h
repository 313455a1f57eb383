/* What the twin has beyond the vendor's interface: settings, counts, the reason of the last
 * refusal. A program that is to run with the vendor's library, too, looks these symbols up with
 * dlsym. */
#ifndef ZDNN_TWIN_H
#define ZDNN_TWIN_H

#include "zdnn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum zdnn_twin_counter ZDNN_ENUM {
  ZDNN_TWIN_TRANSFORMS_IN = 0,    /* host data brought into the machine's layout, tensors */
  ZDNN_TWIN_TRANSFORMS_OUT = 1,   /* and brought back */
  ZDNN_TWIN_OPERATIONS = 2,       /* operations begun: all checks passed */
  ZDNN_TWIN_ALLOCATIONS = 3,      /* buffers and scratch memory allocated */
  ZDNN_TWIN_FREES = 4,            /* and given back */
  ZDNN_TWIN_RANGE_VIOLATIONS = 5, /* calls that ended with that warning */
  ZDNN_TWIN_OBJECTIONS = 6        /* calls that strict mode refused */
} zdnn_twin_counter;

/* Since the library was loaded or zdnn_twin_reset_counts() was called. 0 for an unknown counter. */
uint64_t zdnn_twin_count(zdnn_twin_counter counter);

/* Operations begun with this function code (enum nnpa_function_code). */
uint64_t zdnn_twin_calls(uint32_t function_code);

void zdnn_twin_reset_counts(void);

/* Changes a setting, named as its environment variable ("ZDNN_TWIN_PROFILE"). False, and nothing
 * changed, if there is no such setting or value. A setting of a fault starts counting anew. */
bool zdnn_twin_set(const char* name, const char* value);

/* All settings as the environment says. */
void zdnn_twin_reset_settings(void);

/* Strict mode compares pages with what the library wrote to them. This says that the tensor's
 * buffer is meant to hold what it holds: after it was copied from another tensor's, for instance.
 */
void zdnn_twin_adopt(const zdnn_ztensor* ztensor);

/* Why this thread's last call that failed did so, in words; "" if none did. Valid until the
 * thread's next call. */
const char* zdnn_twin_last_message(void);

#ifdef __cplusplus
}
#endif
#endif
