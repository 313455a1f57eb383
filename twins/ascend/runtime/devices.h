// The devices of the profile, their contexts, and which is current.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ascend/call.h"
#include "ascend/runtime/state.h"

namespace ascend_twin {

/// As PROFILE and DEVICES say. Under Library::mutex.
void make_devices();
/// Ends all streams without their queued work, drops contexts, streams and events.
void drop_devices();
/// Ends the context's streams after their work, and drops it.
void drop_context(const std::shared_ptr<Context>& context);
/// 100001 if another thread has finalised the library since. Under Library::mutex.
Status check_not_finalised();
/// 207008 if the device has no stream left for its default stream. Under Library::mutex.
Status make_context(const std::shared_ptr<Device>& device, bool is_explicit,
                    std::shared_ptr<Context>* context);

/// The device of this number; 107001 if there is none.
Status find_device(std::int64_t index, std::shared_ptr<Device>* device);
/// The calling thread's; 107002 if it has none.
Status current_context(std::shared_ptr<Context>* context);
/// The streams of the context that are alive, the default one too.
std::vector<std::shared_ptr<Stream>> streams_of(Context& context);

/// From the device's pool, for streams and for captured models; 207008 if it has less.
Status take_streams(Device& device, std::uint32_t count);
void give_streams(Device& device, std::uint32_t count);

/// The devices reach each other: both directions are enabled, or they are one.
bool are_peers(std::int32_t a, std::int32_t b);

}  // namespace ascend_twin
