// Forms of functions in which a null stream is the calling thread's, not the legacy stream. The
// vendor's library exports them with the suffixes _ptsz and _ptds; here cuGetProcAddress has them.
#pragma once

#include "cuda/driver/functions.h"

namespace cuda_twin {

/// Whether such a form runs in this thread.
bool default_stream_is_of_thread();
/// The address of the function's form; of the function itself if its streams can't be null.
void* per_thread_form(const ExportedFunction& function);

}  // namespace cuda_twin
