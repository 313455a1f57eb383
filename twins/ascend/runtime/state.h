// Devices and contexts, and whether the library is initialised.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ascend/runtime/handles.h"

namespace ascend_twin {

class Stream;
struct Event;
struct Context;

struct Device {
  std::int32_t index = 0;
  std::uint32_t references = 0;  ///< of aclrtSetDevice
  std::shared_ptr<Context> default_context;
  std::atomic<std::uint32_t> streams{0};  ///< alive, those of captured models too
  std::atomic<std::uint32_t> events{0};   ///< that took their resource
  std::atomic<std::uint32_t> peers{0};    ///< a bit for each device whose memory this one may use
  std::atomic<bool> saturates{false};     ///< asked for by aclrtSetDeviceSatMode, for new streams
  std::atomic<bool> lost{false};
};

/// A stream or event belongs to the context that was current when it was made.
struct Context {
  std::shared_ptr<Device> device;
  bool is_explicit = false;
  /// The code of a failure in a stream whose mode is to stop: no stream of the context goes on.
  std::atomic<std::int32_t> stopped{0};
  std::mutex mutex;
  std::shared_ptr<Stream> default_stream;  ///< made with the context
  std::vector<std::weak_ptr<Stream>> streams;
  std::map<int, std::int64_t> options;  ///< aclrtCtxSetSysParamOpt
};

/// Lock order: Library::mutex, Context::mutex, then a stream's own, then an event's.
struct Library {
  std::mutex mutex;
  std::atomic<bool> initialised{false};  ///< false already while aclFinalize ends the streams
  std::atomic<bool> exception_information{false};  ///< the configuration asked for it (facts B)
  std::atomic<std::uint32_t> references{0};        ///< of aclInit, for aclFinalizeReference
  std::atomic<bool> had_device{false};  ///< an aclrtSetDevice succeeded: later ones are fast
  std::vector<std::shared_ptr<Device>> devices;
  Handles<Context> contexts;  ///< default ones, too
  Handles<Stream> streams;
  Handles<Event> events;
  /// Held by aclInit and aclFinalize from their begin to their end; before `mutex`.
  std::mutex lifecycle;
};
Library& library();

}  // namespace ascend_twin
