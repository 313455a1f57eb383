/* What the twin has beyond the driver's interface: settings, counts, findings, the reason of the
 * last error. A program that also runs on the vendor's driver looks these symbols up with dlsym. */
#ifndef CUDA_TWIN_CONTROL_H
#define CUDA_TWIN_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "enum.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "1.1": present in a twin only. */
const char* cuda_twin_version(void);

/* Changes a setting, named as its environment variable ("CUDA_TWIN_PROFILE"). 0, and nothing
 * changed, if there is no such setting or value. A fault's setting starts counting anew. Settings
 * of devices take effect at the next cuInit() after cuda_twin_reset(). */
int cuda_twin_set(const char* name, const char* value);
/* All settings as the environment has them. A value that a setting does not have is reported on
 * stderr and left out, here and when the library is opened. */
void cuda_twin_reset_settings(void);
/* "baseline", "v3" or "v4": the vector instructions of the host's processor that execute the
 * modules loaded from now on. */
const char* cuda_twin_level(void);
/* Waits for all work, drops all contexts, handles, counts and findings; the next cuInit() starts
 * anew. Not while another thread is in a call. */
void cuda_twin_reset(void);

typedef enum cuda_twin_live CUDA_TWIN_ENUM {
  CUDA_TWIN_DEVICE_ALLOCATIONS = 0,
  CUDA_TWIN_DEVICE_BYTES = 1,
  CUDA_TWIN_PINNED_ALLOCATIONS = 2,
  CUDA_TWIN_PINNED_BYTES = 3,
  CUDA_TWIN_REGISTERED_RANGES = 4,
  CUDA_TWIN_MODULES = 5,
  CUDA_TWIN_STREAMS = 6,
  CUDA_TWIN_EVENTS = 7,
  CUDA_TWIN_GRAPHS = 8,
  CUDA_TWIN_GRAPH_EXECS = 9,
  CUDA_TWIN_CONTEXTS = 10,
  CUDA_TWIN_RESERVED_RANGES = 11,
  CUDA_TWIN_PHYSICAL_HANDLES = 12,
  CUDA_TWIN_POOLS = 13
} cuda_twin_live;
/* Objects alive now. */
uint64_t cuda_twin_count_live(cuda_twin_live which);

typedef struct cuda_twin_kernel_counts {
  uint64_t launches, blocks;
  uint64_t instructions; /* of warps */
  uint64_t kinds[13]; /* integer, float, half, double, convert, move, memory, atomic, warp, barrier,
                         control, tensor, other */
  uint64_t global_bytes_read, global_bytes_written; /* constant memory not included */
  uint64_t global_sectors;                          /* of 32 bytes, by warp instruction */
  uint64_t bank_conflicts; /* extra passes over shared memory, beyond one for each 128 bytes of the
                              lanes: 4 passes for 16 bytes of each lane are none */
  uint64_t worst_bank_conflict;  /* extra passes of one access, at most */
  uint64_t blocks_without_write; /* to global memory */
  uint64_t parameter_sets; /* different parameters of a kernel's launches, 65,536 at most: a kernel
                              with one can be replayed as a part of a graph */
} cuda_twin_kernel_counts;
/* Since the start or the last reset of counts; of all kernels for a null name. 0 if no such kernel
 * ran. */
int cuda_twin_count_kernel(const char* kernel, cuda_twin_kernel_counts* counts);

typedef enum cuda_twin_direction CUDA_TWIN_ENUM {
  CUDA_TWIN_TO_DEVICE = 0,
  CUDA_TWIN_TO_HOST = 1,
  CUDA_TWIN_WITHIN_DEVICE = 2,
  CUDA_TWIN_BETWEEN_DEVICES = 3
} cuda_twin_direction;
uint64_t cuda_twin_count_copies(cuda_twin_direction direction);
uint64_t cuda_twin_count_copied_bytes(cuda_twin_direction direction);
/* Calls of an exported function, by its name. */
uint64_t cuda_twin_count_calls(const char* function);
void cuda_twin_reset_counts(void);

/* Findings of the checks, oldest first, at most 1,000 kept: check and text. 0 past the last. The
 * texts are valid until the thread's next call of cuda_twin_finding() that finds one. */
size_t cuda_twin_findings(void);
int cuda_twin_finding(size_t index, const char** check, const char** text);
void cuda_twin_drop_findings(void);

/* Why this thread's last call that failed did so; "" if none did. Valid until the thread's next
 * call. */
const char* cuda_twin_last_message(void);
/* Why the work of the current context failed that a later call reported (kernel, line, thread,
 * address). Valid until the next failure. */
const char* cuda_twin_last_fault(void);

#ifdef __cplusplus
}
#endif
#endif
