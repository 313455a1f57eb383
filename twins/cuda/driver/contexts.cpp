#include "cuda/call.h"
#include "cuda/driver/driver_memory.h"
#include "cuda/driver/lifetime.h"
#include "cuda/driver/modules.h"
#include "cuda/driver/pools.h"
#include "cuda/driver/thread.h"
#include "cuda/graphs/capture.h"

namespace cuda_twin {

CUresult current_context(std::shared_ptr<Context>& context) {
  const std::uint64_t handle = context_stack().top();
  if (handle == 0) {
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "the calling thread has no current context");
  }
  context = driver().contexts.find(handle);
  if (context == nullptr || context->destroyed) {
    return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
  }
  return context->error == 0 ? CUDA_SUCCESS : surface(*context);
}

CUresult context_of(CUcontext handle, std::shared_ptr<Context>& context) {
  if (handle == nullptr) return current_context(context);
  context = driver().contexts.find(handle);
  if (context == nullptr || context->destroyed) {
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "the handle is no context");
  }
  return context->error == 0 ? CUDA_SUCCESS : surface(*context);
}

std::shared_ptr<Context> context_with(std::uint64_t id) {
  for (auto& context : driver().contexts.all()) {
    if (context->id == id) return std::move(context);
  }
  return nullptr;
}

CUresult make_context(Device& device, unsigned flags, bool primary,
                      std::shared_ptr<Context>& context) {
  auto made = std::make_shared<Context>();
  made->device = &device;
  CUDA_TWIN_TRY(charge_context(*made));
  context = std::move(made);
  Driver& state = driver();
  context->flags = flags;
  context->is_primary = primary;
  context->id = state.next_id++;
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context;
  context->legacy->is_legacy = true;
  context->legacy->id = state.next_id++;
  context->limits[CU_LIMIT_STACK_SIZE] = 1024;
  context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = std::size_t{1} << 20;
  context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = std::size_t{8} << 20;
  context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
  context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
  context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
  context->handle = as_handle<CUcontext>(state.contexts.add(context));
  return CUDA_SUCCESS;
}

namespace {

template <class T>
void forget(Handles<T>& handles, const Context& context, void (*end)(T&) = nullptr) {
  for (const auto& object : handles.all()) {
    const auto owner = object->context.lock();
    if (owner != nullptr && owner.get() != &context) continue;
    const bool mine = handles.take(reinterpret_cast<std::uint64_t>(object->handle)) != nullptr;
    if (mine && end != nullptr) end(*object);
  }
}

CUresult check_flags(unsigned flags) {
  const unsigned scheduling = flags & CU_CTX_SCHED_MASK;
  const bool one = scheduling == 0 || (scheduling & (scheduling - 1)) == 0;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0 && one) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags of a context");
}

CUresult push(CUcontext handle) {
  ContextStack& stack = context_stack();
  if (stack.depth == ContextStack::kMost) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "too many contexts are pushed");
  }
  stack.handles[stack.depth++] = reinterpret_cast<std::uint64_t>(handle);
  return CUDA_SUCCESS;
}

CUresult create(CUcontext* context, unsigned flags, CUdevice device) {
  Device* found = nullptr;
  if (context == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "context is null");
  CUDA_TWIN_TRY(device_of(device, found));
  CUDA_TWIN_TRY(check_flags(flags));
  std::shared_ptr<Context> made;
  CUDA_TWIN_TRY(make_context(*found, flags, false, made));
  *context = made->handle;
  return push(*context);
}

/// The context that a handle names, lost ones too.
CUresult any_context(CUcontext handle, std::shared_ptr<Context>& context) {
  context = driver().contexts.find(handle);
  if (context != nullptr && !context->destroyed) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_CONTEXT, "the handle is no context");
}

}  // namespace

void end_context(Context& context) {
  if (context.destroyed.exchange(true)) return;
  drop_captures(context);
  close_streams(context);
  Driver& state = driver();
  forget(state.streams, context);
  forget(state.events, context);
  forget(state.functions, context);
  forget(state.modules, context, unload);
  free_memory_of(context);
  free_pool_memory_of(context);
  release_pool_memory(*context.device);
  free_host_memory_of(context);
  refund_context(context);
  state.contexts.take(reinterpret_cast<std::uint64_t>(context.handle));
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return call(__func__, [&] { return create(context, flags, device); });
}

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams* params, unsigned int flags,
                     CUdevice device) {
  return call(__func__, [&]() -> CUresult {
    if (params != nullptr && (params->numExecAffinityParams != 0 || params->cigParams != nullptr)) {
      return refuse(CUDA_ERROR_NOT_SUPPORTED, "no execution affinity or graphics sharing");
    }
    return create(context, flags, device);
  });
}

CUresult cuCtxDestroy(CUcontext context) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Context> found;
    CUDA_TWIN_TRY(any_context(context, found));
    if (found->is_primary) {
      return refuse(CUDA_ERROR_INVALID_CONTEXT, "a primary context is released, not destroyed");
    }
    end_context(*found);
    ContextStack& stack = context_stack();
    if (stack.top() == reinterpret_cast<std::uint64_t>(context)) --stack.depth;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Context> found;
    CUDA_TWIN_TRY(any_context(context, found));
    return push(context);
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return call(__func__, [&]() -> CUresult {
    ContextStack& stack = context_stack();
    if (stack.depth == 0) return refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is pushed");
    if (context != nullptr) *context = as_handle<CUcontext>(stack.top());
    --stack.depth;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return call(__func__, [&]() -> CUresult {
    ContextStack& stack = context_stack();
    if (context == nullptr) {
      if (stack.depth > 0) --stack.depth;
      return CUDA_SUCCESS;
    }
    std::shared_ptr<Context> found;
    CUDA_TWIN_TRY(any_context(context, found));
    if (stack.depth == 0) return push(context);
    stack.handles[stack.depth - 1] = reinterpret_cast<std::uint64_t>(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return call(__func__, [&]() -> CUresult {
    if (context == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "context is null");
    *context = as_handle<CUcontext>(context_stack().top());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (device == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "device is null");
    *device = context.device->ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (flags == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "flags is null");
    *flags = context.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Context> found;
    if (id == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "id is null");
    CUDA_TWIN_TRY(context_of(context, found));
    *id = found->id;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Context> found;
    if (version == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "version is null");
    CUDA_TWIN_TRY(context_of(context, found));
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (value == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "value is null");
    const auto index = static_cast<std::size_t>(limit);
    if (index >= context.limits.size()) {
      return refuse(CUDA_ERROR_UNSUPPORTED_LIMIT, "there is no such limit");
    }
    const std::lock_guard lock(context.mutex);
    *value = context.limits[index];
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    const auto index = static_cast<std::size_t>(limit);
    if (index >= context.limits.size()) {
      return refuse(CUDA_ERROR_UNSUPPORTED_LIMIT, "there is no such limit");
    }
    constexpr std::size_t kMostFetched = 128;
    if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > kMostFetched) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "an L2 fetch has at most 128 bytes");
    }
    if (limit == CU_LIMIT_STACK_SIZE) {
      CUDA_TWIN_TRY(synchronize(context));  // as the documentation has it
      CUDA_TWIN_TRY(reserve_stacks(context, value));
    }
    const std::lock_guard lock(context.mutex);
    context.limits[index] = value;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    CUDA_TWIN_TRY(refuse_synchronize(context));
    return synchronize(context);
  });
}

}  // extern "C"
