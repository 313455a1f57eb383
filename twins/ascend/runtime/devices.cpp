#include "ascend/runtime/devices.h"

#include <utility>

#include "ascend/profiles.h"
#include "ascend/runtime/event.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"

namespace ascend_twin {
namespace {

void end_streams(Context& context, bool drop) {
  const std::vector<std::shared_ptr<Stream>> streams = streams_of(context);
  for (const auto& stream : streams) stream->close(drop);
  for (const auto& stream : streams) {
    stream->join();
    if (library().streams.remove(stream.get()) != nullptr) give_streams(*context.device, 1);
  }
}

}  // namespace

void make_devices() {
  const std::int64_t count = profile() == nullptr ? 0 : setting(Setting::kDevices);
  library().devices.clear();
  for (std::int32_t index = 0; index < count; ++index) {
    library().devices.push_back(std::make_shared<Device>());
    library().devices.back()->index = index;
  }
}

Status check_not_finalised() {
  if (library().initialised) return ACL_SUCCESS;
  return refuse(ACL_ERROR_UNINITIALIZE, "another thread finalised the library");
}

std::vector<std::shared_ptr<Stream>> streams_of(Context& context) {
  std::vector<std::shared_ptr<Stream>> streams{context.default_stream};
  const std::lock_guard lock(context.mutex);
  for (const auto& weak : context.streams) {
    if (auto stream = weak.lock()) streams.push_back(std::move(stream));
  }
  return streams;
}

Status make_context(const std::shared_ptr<Device>& device, bool is_explicit,
                    std::shared_ptr<Context>* context) {
  ASCEND_TWIN_TRY(take_streams(*device, 1));
  auto made = std::make_shared<Context>();
  made->device = device;
  made->is_explicit = is_explicit;
  made->default_stream = std::make_shared<Stream>(made);
  library().contexts.add(made);
  library().streams.add(made->default_stream);
  if (is_explicit) add_live(ASCEND_TWIN_LIVE_CONTEXTS);
  *context = std::move(made);
  return ACL_SUCCESS;
}

void drop_context(const std::shared_ptr<Context>& context) {
  if (library().contexts.remove(context.get()) == nullptr) return;
  end_streams(*context, false);
  if (context->is_explicit) drop_live(ASCEND_TWIN_LIVE_CONTEXTS);
}

void drop_devices() {
  const std::vector<std::shared_ptr<Context>> contexts = library().contexts.all();
  // All are closed before one is joined: a stream may wait for one of another context.
  for (const auto& context : contexts) {
    for (const auto& stream : streams_of(*context)) stream->close(true);
  }
  for (const auto& context : contexts) {
    end_streams(*context, true);
    drop_context(context);
  }
  library().events.clear();
  const std::lock_guard lock(library().mutex);
  for (const auto& device : library().devices) device->default_context = nullptr;
  library().devices.clear();
}

Status find_device(std::int64_t index, std::shared_ptr<Device>* device) {
  const std::lock_guard lock(library().mutex);
  if (index < 0 || static_cast<std::uint64_t>(index) >= library().devices.size()) {
    return refuse(ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(index) + " of " +
                                                     std::to_string(library().devices.size()) +
                                                     " devices");
  }
  *device = library().devices[static_cast<std::size_t>(index)];
  return ACL_SUCCESS;
}

Status current_context(std::shared_ptr<Context>* context) {
  *context = this_thread().context.lock();
  if (*context == nullptr)
    return refuse(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no current context");
  return ACL_SUCCESS;
}

Status take_streams(Device& device, std::uint32_t count) {
  const std::uint32_t most = profile() == nullptr ? 0 : profile()->streams;
  std::uint32_t used = device.streams;
  do {
    if (count > most || used > most - count) {
      return refuse(ACL_ERROR_RT_NO_STREAM_RESOURCE, std::to_string(used) + " of the device's " +
                                                         std::to_string(most) +
                                                         " streams are in use");
    }
  } while (!device.streams.compare_exchange_weak(used, used + count));
  return ACL_SUCCESS;
}

void give_streams(Device& device, std::uint32_t count) {
  device.streams -= count;
}

bool are_peers(std::int32_t a, std::int32_t b) {
  if (a == b) return true;
  const std::lock_guard lock(library().mutex);
  const auto reaches = [](std::int32_t from, std::int32_t to) {
    const auto& devices = library().devices;
    return static_cast<std::size_t>(from) < devices.size() &&
           (devices[static_cast<std::size_t>(from)]->peers >> to & 1U) != 0;
  };
  return reaches(a, b) && reaches(b, a);
}

}  // namespace ascend_twin
