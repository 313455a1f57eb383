// Which device is current, and waiting for one.
#include <chrono>
#include <thread>
#include <utility>

#include "ascend/capture/capture.h"
#include "ascend/include/acl/acl_runtime.h"
#include "ascend/profiles.h"
#include "ascend/runtime/devices.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"

using namespace ascend_twin;

namespace {

Status set_device(std::int32_t index) {
  std::shared_ptr<Device> device;
  ASCEND_TWIN_TRY(find_device(index, &device));
  if (!library().had_device.exchange(true))
    std::this_thread::sleep_for(std::chrono::milliseconds(setting(Setting::kSlowFirstDevice)));
  const std::lock_guard lock(library().mutex);
  ASCEND_TWIN_TRY(check_not_finalised());
  if (device->default_context == nullptr)
    ASCEND_TWIN_TRY(make_context(device, false, &device->default_context));
  ++device->references;
  this_thread().context = device->default_context;
  return ACL_SUCCESS;
}

Status reset_device(std::int32_t index, bool force) {
  std::shared_ptr<Device> device;
  ASCEND_TWIN_TRY(find_device(index, &device));
  ASCEND_TWIN_TRY(check_can_wait());
  std::shared_ptr<Context> dropped;
  {
    const std::lock_guard lock(library().mutex);
    if (device->references == 0) return ACL_SUCCESS;
    device->references = force ? 0 : device->references - 1;
    if (device->references != 0) return ACL_SUCCESS;
    dropped = std::exchange(device->default_context, nullptr);
  }
  if (dropped != nullptr) drop_context(dropped);
  return ACL_SUCCESS;
}

std::vector<std::shared_ptr<Stream>> streams_of_device(const Device& device) {
  std::vector<std::shared_ptr<Stream>> streams;
  for (const auto& context : library().contexts.all()) {
    if (context->device.get() != &device) continue;
    for (auto& stream : streams_of(*context)) streams.push_back(std::move(stream));
  }
  return streams;
}

/// The first late error of all streams, or 507046. Those of other streams are kept.
Status synchronize_device(std::int64_t milliseconds) {
  using Clock = std::chrono::steady_clock;
  std::shared_ptr<Context> context;
  ASCEND_TWIN_TRY(current_context(&context));
  ASCEND_TWIN_TRY(check_can_wait());
  const std::vector<std::shared_ptr<Stream>> streams = streams_of_device(*context->device);
  for (const auto& stream : streams) ASCEND_TWIN_TRY(check_not_captured(*stream));
  count(ASCEND_TWIN_STREAM_WAITS);
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  Status first = ACL_SUCCESS;
  for (const auto& stream : streams) stream->hurry(stream->last_ticket());
  for (const auto& stream : streams) {
    std::int64_t left = -1;
    if (milliseconds >= 0) {
      const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      left = rest.count() < 0 ? 0 : rest.count();
    }
    if (!stream->wait_for(stream->last_ticket(), left)) {
      return refuse(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                    "not done in " + std::to_string(milliseconds) + " ms");
    }
    if (first == ACL_SUCCESS) first = stream->take_error();
  }
  return first == ACL_SUCCESS ? first : refuse(first, "work of a stream failed");
}

/// Of peers: 207000 where the chip has none, 100000 for one device twice.
Status check_peers(std::int64_t device, std::int64_t peer) {
  if (profile() == nullptr || profile()->chip == k310b)
    return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip has no peers");
  std::shared_ptr<Device> found;
  ASCEND_TWIN_TRY(find_device(device, &found));
  ASCEND_TWIN_TRY(find_device(peer, &found));
  if (device == peer) return refuse(ACL_ERROR_INVALID_PARAM, "a device is no peer of its own");
  return ACL_SUCCESS;
}

bool can_reach() {
  const auto peers = setting_as<Peers>(Setting::kPeers);
  if (peers == Peers::kAsProfile) return profile() != nullptr && profile()->has_peers;
  return peers == Peers::kOn;
}

}  // namespace

aclError aclrtGetRunMode(aclrtRunMode* mode) {
  return call("aclrtGetRunMode", Need::kInitialised, [&]() -> Status {
    if (mode == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the mode's pointer is null");
    if (profile() == nullptr) return refuse(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "there is no device");
    *mode = profile()->one_memory ? ACL_DEVICE : ACL_HOST;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return call("aclrtGetDeviceCount", Need::kInitialised, [&]() -> Status {
    if (count == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the count's pointer is null");
    if (profile() == nullptr) return refuse(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "there is no device");
    const std::lock_guard lock(library().mutex);
    *count = static_cast<uint32_t>(library().devices.size());
    return ACL_SUCCESS;
  });
}

aclError aclrtSetDevice(int32_t index) {
  return call("aclrtSetDevice", Need::kInitialised, [&] { return set_device(index); });
}

aclError aclrtGetDevice(int32_t* index) {
  return call("aclrtGetDevice", Need::kContext, [&]() -> Status {
    if (index == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the device's pointer is null");
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    *index = context->device->index;
    return ACL_SUCCESS;
  });
}

aclError aclrtResetDevice(int32_t index) {
  return call("aclrtResetDevice", Need::kInitialised, [&] { return reset_device(index, false); });
}

aclError aclrtResetDeviceForce(int32_t index) {
  return call("aclrtResetDeviceForce", Need::kInitialised,
              [&] { return reset_device(index, true); });
}

aclError aclrtSynchronizeDevice(void) {
  return call("aclrtSynchronizeDevice", Need::kContext, [&] { return synchronize_device(-1); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds) {
  return call("aclrtSynchronizeDeviceWithTimeout", Need::kContext, [&]() -> Status {
    if (milliseconds == 0 || milliseconds < -1)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, std::to_string(milliseconds) + " ms");
    return synchronize_device(milliseconds);
  });
}

aclError aclrtDeviceTaskAbort(int32_t index, uint32_t /*timeout*/) {
  return call("aclrtDeviceTaskAbort", Need::kInitialised, [&]() -> Status {
    std::shared_ptr<Device> device;
    ASCEND_TWIN_TRY(find_device(index, &device));
    for (const auto& stream : streams_of_device(*device))
      stream->abort(ACL_ERROR_RT_DEVICE_TASK_ABORT);
    return ACL_SUCCESS;
  });
}

aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  return call("aclrtDeviceCanAccessPeer", Need::kInitialised, [&]() -> Status {
    if (can == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the answer's pointer is null");
    ASCEND_TWIN_TRY(check_peers(device, peer));
    *can = can_reach() ? 1 : 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
  return call("aclrtDeviceEnablePeerAccess", Need::kContext, [&]() -> Status {
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    if (flags != 0) return refuse(ACL_ERROR_FEATURE_UNSUPPORTED, "flags " + std::to_string(flags));
    ASCEND_TWIN_TRY(check_peers(context->device->index, peer));
    if (!can_reach())
      return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the devices do not reach each other");
    context->device->peers |= 1U << peer;
    return ACL_SUCCESS;
  });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peer) {
  return call("aclrtDeviceDisablePeerAccess", Need::kContext, [&]() -> Status {
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    ASCEND_TWIN_TRY(check_peers(context->device->index, peer));
    context->device->peers &= ~(1U << peer);
    return ACL_SUCCESS;
  });
}

aclError aclrtDevicePeerAccessStatus(int32_t index, int32_t peer, int32_t* status) {
  return call("aclrtDevicePeerAccessStatus", Need::kInitialised, [&]() -> Status {
    if (status == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the status's pointer is null");
    ASCEND_TWIN_TRY(check_peers(index, peer));
    std::shared_ptr<Device> device;
    ASCEND_TWIN_TRY(find_device(index, &device));
    *status = static_cast<int32_t>(device->peers >> peer & 1U);
    return ACL_SUCCESS;
  });
}
