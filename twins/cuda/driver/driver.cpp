#include <pthread.h>

#include <algorithm>

#include "cuda/call.h"
#include "cuda/driver/lifetime.h"
#include "cuda/driver/per_thread.h"
#include "cuda/driver/pools.h"
#include "cuda/driver/thread.h"
#include "cuda/driver/virtual_memory.h"
#include "cuda/graphs/capture.h"
#include "cuda/graphs/graphs.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

// A child of fork() has none of the threads that execute its parent's work.
std::atomic<bool> forked{false};

void note_fork() {
  if (driver().initialised) forked = true;
}

/// Settings come from the environment when the library is loaded.
struct Start {
  Start() {
    settings().read_environment();
    pthread_atfork(nullptr, nullptr, note_fork);
  }
};
const Start started_at_load;

/// The profile of each device. One profile is that of all; a list has one for each.
CUresult list_profiles(std::vector<const Profile*>& profiles) {
  constexpr std::int64_t kMostDevices = 8;
  const std::int64_t list = setting(Setting::kProfile);
  const std::int64_t named = twin::count_items(list);
  const std::int64_t wanted = setting(Setting::kDevices);
  const std::int64_t count = wanted == kAsManyAsProfiles ? named : wanted;
  if (count == 0) return refuse(CUDA_ERROR_NO_DEVICE, "CUDA_TWIN_DEVICES is 0");
  if (count > kMostDevices) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "CUDA_TWIN_DEVICES is more than 8");
  }
  if (named > 1 && count != named) {
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "CUDA_TWIN_PROFILE has another number of devices than CUDA_TWIN_DEVICES");
  }
  for (unsigned i = 0; i < count; ++i) {
    const std::int64_t row = twin::item_of(list, named == 1 ? 0 : i) - 1;
    profiles.push_back(&kProfileTable[row]);
  }
  return CUDA_SUCCESS;
}

void make_devices(Driver& state, const std::vector<const Profile*>& profiles) {
  const std::int64_t memory = setting(Setting::kMemory);
  const std::int64_t multiprocessors = setting(Setting::kMultiprocessors);
  for (const Profile* const profile : profiles) {
    auto device = std::make_unique<Device>();
    device->ordinal = static_cast<int>(state.devices.size());
    device->own_profile = *profile;
    if (multiprocessors > 0)
      device->own_profile.multiprocessors = static_cast<int>(multiprocessors);
    device->profile = &device->own_profile;
    device->memory_bytes =
        memory > 0 ? static_cast<std::uint64_t>(memory) : device->profile->memory_bytes;
    state.devices.push_back(std::move(device));
  }
}

CUresult initialise() {
  Driver& state = driver();
  const std::lock_guard lock(state.mutex);
  if (state.initialised) return CUDA_SUCCESS;
  std::vector<const Profile*> profiles;
  CUDA_TWIN_TRY(list_profiles(profiles));
  state.space = std::make_shared<Space>();
  make_devices(state, profiles);
  state.initialised = true;
  return CUDA_SUCCESS;
}

}  // namespace

Driver& driver() {
  static Driver& only = *new Driver;
  return only;
}

namespace {

/// A function that the driver of this version does not have, found by dlsym() all the same.
CUresult refuse_newer(std::size_t function) {
  const int first = first_driver_of(function);
  if (first <= setting(Setting::kDriver)) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_NOT_FOUND, "the function is of driver " + std::to_string(first / 1000) +
                                          "." + std::to_string(first % 1000 / 10) +
                                          ", CUDA_TWIN_DRIVER is older");
}

/// Finds a function for cuGetProcAddress; `status` says how that went.
CUresult find_function(const char* symbol, void** function, int cuda_version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult& status) {
  status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (symbol == nullptr || function == nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "symbol or function is null");
  }
  if (flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags, or two default streams");
  }
  const int version = std::min(cuda_version, static_cast<int>(setting(Setting::kDriver)));
  bool known = false;
  const ExportedFunction* const found = function_named(symbol, version, known);
  if (found == nullptr) {
    if (known) status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return refuse(CUDA_ERROR_NOT_FOUND,
                  std::string(symbol) + (known ? " is newer than the version" : " is unknown"));
  }
  *function = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? per_thread_form(*found)
                                                                     : found->address;
  status = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult admit(std::size_t function) {
  if (forwarding_function != nullptr) return CUDA_SUCCESS;
  count_call(function);
  Driver& state = driver();
  if (forked) {
    return refuse(CUDA_ERROR_NOT_INITIALIZED,
                  "this process is a child of fork(): it cannot use the"
                  " driver of its parent");
  }
  if (!state.initialised) return refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
  if (in_host_function()) {
    return refuse(CUDA_ERROR_NOT_PERMITTED, "a host function may not call the driver");
  }
  CUDA_TWIN_TRY(refuse_newer(function));
  if (setting(Setting::kMissing) == static_cast<std::int64_t>(function) + 1) {
    return refuse(CUDA_ERROR_NOT_FOUND, "the function is missing: CUDA_TWIN_MISSING");
  }
  if (fault_is_due(Setting::kFailLost)) state.lost = true;
  if (state.lost) return refuse(CUDA_ERROR_DEVICE_UNAVAILABLE, "the device is lost");
  return CUDA_SUCCESS;
}

void reset_driver() {
  Driver& state = driver();
  for (const auto& context : state.contexts.all()) end_context(*context);
  drop_captures();
  drop_graphs();
  drop_pools();
  drop_virtual_memory();
  {
    const std::lock_guard lock(state.values_mutex);
    state.value_writes.clear();
  }
  const std::lock_guard lock(state.mutex);
  state.devices.clear();
  state.space.reset();
  state.lost = false;
  state.initialised = false;
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuInit(unsigned int flags) {
  return query(__func__, [&]() -> CUresult {
    if (forked) return refuse(CUDA_ERROR_NOT_INITIALIZED, "this process is a child of fork()");
    if (flags != 0) return refuse(CUDA_ERROR_INVALID_VALUE, "flags must be 0");
    return initialise();
  });
}

CUresult cuDriverGetVersion(int* version) {
  return query(__func__, [&]() -> CUresult {
    if (version == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "version is null");
    *version = static_cast<int>(setting(Setting::kDriver));
    return CUDA_SUCCESS;
  });
}

CUresult cuGetProcAddress(const char* symbol, void** function, int cudaVersion, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  return query(__func__, [&]() -> CUresult {
    if (function != nullptr) *function = nullptr;
    if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUDA_TWIN_TRY(refuse_newer(function_index("cuGetProcAddress_v2")));
    CUdriverProcAddressQueryResult found{};
    const CUresult result = find_function(symbol, function, cudaVersion, flags, found);
    if (status != nullptr) *status = found;
    return result;
  });
}

// The form before 12.0.
#undef cuGetProcAddress
CUresult cuGetProcAddress(const char* symbol, void** function, int cudaVersion, cuuint64_t flags) {
  return query(__func__, [&]() -> CUresult {
    if (function != nullptr) *function = nullptr;
    CUDA_TWIN_TRY(refuse_newer(function_index("cuGetProcAddress")));
    CUdriverProcAddressQueryResult found{};
    return find_function(symbol, function, cudaVersion, flags, found);
  });
}

}  // extern "C"
