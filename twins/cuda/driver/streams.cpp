#include <algorithm>

#include "cuda/call.h"
#include "cuda/driver/per_thread.h"
#include "cuda/driver/pools.h"
#include "cuda/driver/worker.h"
#include "cuda/graphs/capture.h"
#include "cuda/races/work_order.h"

namespace cuda_twin {
namespace {

std::shared_ptr<Stream> make_stream(Context& context, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->context = context.weak_from_this();
  stream->flags = flags;
  stream->priority = std::clamp(priority, kGreatestPriority, 0);
  stream->id = driver().next_id++;
  const std::lock_guard lock(context.mutex);
  context.streams.push_back(stream);
  return stream;
}

std::shared_ptr<Stream> stream_of_thread(Context& context) {
  {
    const std::lock_guard lock(context.mutex);
    const auto at = context.of_threads.find(std::this_thread::get_id());
    if (at != context.of_threads.end()) return at->second;
  }
  std::shared_ptr<Stream> stream = make_stream(context, CU_STREAM_DEFAULT, 0);
  const std::lock_guard lock(context.mutex);
  context.of_threads[std::this_thread::get_id()] = stream;
  return stream;
}

CUresult create(Context& context, CUstream* stream, unsigned flags, int priority) {
  if (stream == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "stream is null");
  if ((flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags of a stream");
  }
  CUDA_TWIN_TRY(refuse_unsafe_call());
  const std::shared_ptr<Stream> made = make_stream(context, flags, priority);
  made->handle = as_handle<CUstream>(driver().streams.add(made));
  *stream = made->handle;
  return CUDA_SUCCESS;
}

/// Whether all work so far has ended, and the numbers of the last pieces. Never waits for work.
bool are_idle(const std::vector<std::shared_ptr<Stream>>& streams,
              std::vector<std::uint64_t>& last_numbers) {
  for (const auto& stream : streams) {
    const std::lock_guard lock(stream->mutex);
    if (stream->completed < stream->submitted) return false;
    if (stream->last_number != 0) last_numbers.push_back(stream->last_number);
  }
  return true;
}

/// The stream, and for the legacy stream all those that it waits for.
std::vector<std::shared_ptr<Stream>> with_waited(Context& context, Stream& stream) {
  std::vector<std::shared_ptr<Stream>> streams = {stream.shared_from_this()};
  if (!stream.is_legacy) return streams;
  const std::lock_guard lock(context.mutex);
  for (const auto& other : context.streams) {
    if (!other->non_blocking()) streams.push_back(other);
  }
  return streams;
}

/// The host has waited for the work of streams that were destroyed.
void wait_for_ended(Context& context, bool non_blocking_too) {
  WorkOrder& works = driver().space->works();
  const std::lock_guard lock(context.mutex);
  for (const std::uint64_t number : context.ended_blocking) works.host_waited(number);
  context.ended_blocking.clear();
  if (!non_blocking_too) return;
  for (const std::uint64_t number : context.ended_non_blocking) works.host_waited(number);
  context.ended_non_blocking.clear();
}

void wait_for_all(const std::vector<std::shared_ptr<Stream>>& streams) {
  WorkOrder& works = driver().space->works();
  for (const auto& stream : streams) {
    std::uint64_t ticket = 0;
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(stream->mutex);
      ticket = stream->submitted;
      number = stream->last_number;
    }
    wait_for(*stream, ticket);
    if (number != 0) works.host_waited(number);
  }
}

/// A created stream, also one of another context.
CUresult created_stream(CUstream handle, std::shared_ptr<Stream>& stream) {
  stream = driver().streams.find(handle);
  if (stream != nullptr) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_HANDLE, "the handle is no stream");
}

}  // namespace

std::shared_ptr<Stream> default_stream(Context& context) {
  return default_stream_is_of_thread() ? stream_of_thread(context) : context.legacy;
}

CUresult stream_of(CUstream handle, std::shared_ptr<Context>& context,
                   std::shared_ptr<Stream>& stream) {
  CUDA_TWIN_TRY(current_context(context));
  if (handle == nullptr) {
    stream = default_stream(*context);
    return CUDA_SUCCESS;
  }
  if (handle == CU_STREAM_LEGACY) {
    stream = context->legacy;
    return CUDA_SUCCESS;
  }
  if (handle == CU_STREAM_PER_THREAD) {
    stream = stream_of_thread(*context);
    return CUDA_SUCCESS;
  }
  CUDA_TWIN_TRY(created_stream(handle, stream));
  // A stream of another context is used with its own.
  std::shared_ptr<Context> own = stream->context.lock();
  if (own == nullptr || own->destroyed) {
    return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the stream's context was destroyed");
  }
  context = std::move(own);
  return context->error == 0 ? CUDA_SUCCESS : surface(*context);
}

CUresult synchronize(Stream& stream) {
  const std::shared_ptr<Context> context = stream.context.lock();
  if (context == nullptr) return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "no context");
  wait_for_all(with_waited(*context, stream));
  if (stream.is_legacy) wait_for_ended(*context, false);
  release_pool_memory(*context->device);
  return surface(*context);
}

CUresult synchronize(Context& context) {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(context.mutex);
    streams = context.streams;
    streams.push_back(context.legacy);
  }
  wait_for_all(streams);
  wait_for_ended(context, true);
  release_pool_memory(*context.device);
  return surface(context);
}

void wait_without_order(Context& context) {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(context.mutex);
    streams = context.streams;
    streams.push_back(context.legacy);
  }
  for (const auto& stream : streams) {
    std::uint64_t ticket = 0;
    {
      const std::lock_guard lock(stream->mutex);
      ticket = stream->submitted;
    }
    wait_for(*stream, ticket);
  }
}

CUresult synchronize_with_owner(Context& context, std::uint64_t owner) {
  CUDA_TWIN_TRY(synchronize(context));
  if (owner == context.id) return CUDA_SUCCESS;
  const std::shared_ptr<Context> other = context_with(owner);
  return other == nullptr ? CUDA_SUCCESS : synchronize(*other);
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return call_in_context(__func__,
                         [&](Context& context) { return create(context, stream, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return call_in_context(
      __func__, [&](Context& context) { return create(context, stream, flags, priority); });
}

CUresult cuStreamDestroy(CUstream stream) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Stream> found;
    CUDA_TWIN_TRY(created_stream(stream, found));
    leave_capture(*found);
    if (driver().streams.take(stream) == nullptr) {
      return refuse(CUDA_ERROR_INVALID_HANDLE, "the stream is destroyed already");
    }
    const std::shared_ptr<Context> context = found->context.lock();
    if (context != nullptr) {
      const std::lock_guard order(context->mutex);
      const std::lock_guard lock(found->mutex);
      if (!found->started) std::erase(context->streams, found);
    }
    close_stream(*found);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) -> CUresult {
    CUDA_TWIN_TRY(refuse_synchronize(found));
    return synchronize(found);
  });
}

CUresult cuStreamQuery(CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) -> CUresult {
    CUDA_TWIN_TRY(refuse_synchronize(found));
    std::vector<std::uint64_t> numbers;
    if (!are_idle(with_waited(context, found), numbers)) return CUDA_ERROR_NOT_READY;
    for (const std::uint64_t number : numbers) driver().space->works().host_waited(number);
    return surface(context);
  });
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) -> CUresult {
    if (flags == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "flags is null");
    *flags = found.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) -> CUresult {
    if (priority == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "priority is null");
    *priority = found.priority;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return call_in_stream(__func__, stream, [&](Context& found, Stream&) -> CUresult {
    if (context == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "context is null");
    *context = found.handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) -> CUresult {
    if (id == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "id is null");
    *id = found.id;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
