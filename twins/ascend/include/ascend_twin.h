/* The twin's own functions, beyond the vendor's interface: settings, counts, the ledger, the last
 * objection. libascendcl.so and libacl_rt.so export them. A program that also runs with the
 * vendor's libraries looks them up with dlsym. */
#ifndef ASCEND_TWIN_H
#define ASCEND_TWIN_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define ASCEND_TWIN_ENUM : int
#else
#define ASCEND_TWIN_ENUM
#endif

/* "1.0": present in a twin only. */
const char* ascend_twin_version(void);

/* Changes a setting, named as its environment variable ("ASCEND_TWIN_PROFILE"). False, and nothing
 * changed, if there is no such setting or value. A fault's setting starts counting anew. Settings
 * of devices take effect at the next aclInit() after ascend_twin_reset(). */
bool ascend_twin_set(const char* name, const char* value);
/* All settings as the environment has them. */
void ascend_twin_reset_settings(void);
/* Ends all streams, drops all objects and memory, counts and objections. The next aclInit() starts
 * anew. Not while another thread is in a call. */
void ascend_twin_reset(void);

typedef enum ascend_twin_counter ASCEND_TWIN_ENUM {
  ASCEND_TWIN_FIRST_PHASES = 0,  /* aclnn...GetWorkspaceSize that succeeded */
  ASCEND_TWIN_SECOND_PHASES = 1, /* launches, of repeatable executors too */
  ASCEND_TWIN_TASKS = 2,         /* tasks executed by streams */
  ASCEND_TWIN_REPLAYS = 3,       /* of captured models */
  ASCEND_TWIN_CAPTURES = 4,      /* that ended well */
  ASCEND_TWIN_DRAINS = 5,        /* asynchronous copies of pageable memory */
  ASCEND_TWIN_COPIES_TO_DEVICE = 6,
  ASCEND_TWIN_COPIES_TO_HOST = 7,
  ASCEND_TWIN_COPIES_WITHIN = 8, /* device to device */
  ASCEND_TWIN_COPIED_BYTES_TO_DEVICE = 9,
  ASCEND_TWIN_COPIED_BYTES_TO_HOST = 10,
  ASCEND_TWIN_DEVICE_ALLOCATIONS = 11, /* so far */
  ASCEND_TWIN_HOST_ALLOCATIONS = 12,
  ASCEND_TWIN_STREAM_WAITS = 13, /* aclrtSynchronizeStream and -Device */
  ASCEND_TWIN_OBJECTIONS = 14,   /* of strict mode */
  ASCEND_TWIN_COPIED_BYTES_WITHIN = 15
} ascend_twin_counter;
/* Since the start or ascend_twin_reset_counts(). 0 for an unknown counter. */
uint64_t ascend_twin_count(ascend_twin_counter counter);
/* Calls of an exported function ("aclrtMalloc", "aclnnAdd"). */
uint64_t ascend_twin_calls(const char* function);
void ascend_twin_reset_counts(void);

/* The ledger: objects and bytes alive now. */
typedef enum ascend_twin_live ASCEND_TWIN_ENUM {
  ASCEND_TWIN_LIVE_DEVICE_ALLOCATIONS = 0,
  ASCEND_TWIN_LIVE_DEVICE_BYTES = 1, /* as asked for */
  ASCEND_TWIN_LIVE_HOST_ALLOCATIONS = 2,
  ASCEND_TWIN_LIVE_HOST_BYTES = 3,
  ASCEND_TWIN_LIVE_RESERVED_RANGES = 4,
  ASCEND_TWIN_LIVE_PHYSICAL_HANDLES = 5,
  ASCEND_TWIN_LIVE_CONTEXTS = 6, /* explicit ones */
  ASCEND_TWIN_LIVE_STREAMS = 7,
  ASCEND_TWIN_LIVE_EVENTS = 8,
  ASCEND_TWIN_LIVE_TENSORS = 9,
  ASCEND_TWIN_LIVE_SCALARS = 10, /* scalars and arrays */
  ASCEND_TWIN_LIVE_LISTS = 11,
  ASCEND_TWIN_LIVE_EXECUTORS = 12,
  ASCEND_TWIN_LIVE_MODELS = 13,
  ASCEND_TWIN_LIVE_SINGLE_OP_OBJECTS = 14,
  ASCEND_TWIN_LIVE_DEVICE_BYTES_RESERVED = 15 /* with round-up and tail */
} ascend_twin_live;
uint64_t ascend_twin_count_live(ascend_twin_live which);

/* Why the calling thread's last call that failed did so; "" if none did. */
const char* ascend_twin_last_message(void);
/* The last objection of strict mode by any thread; "" if there was none. Valid until the next. */
const char* ascend_twin_last_objection(void);

#ifdef __cplusplus
}
#endif
#endif
