#include <utility>
#include <vector>

#include "ascend/capture/capture.h"
#include "ascend/include/acl/acl_runtime.h"
#include "ascend/memory/copy.h"
#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"
#include "ascend/strict/watch.h"

using namespace ascend_twin;

namespace {

bool has_one_memory() {
  return profile() != nullptr && profile()->one_memory;
}

std::shared_ptr<Task> task_of(Task::Kind kind, const char* name) {
  auto task = std::make_shared<Task>();
  task->kind = kind;
  task->name = name;
  return task;
}

/// Bytes from the first to the last of all rows.
std::uint64_t reach(const Copy& copy, std::size_t pitch) {
  return copy.height == 0 ? 0 : (copy.height - 1) * pitch + copy.width;
}

/// At once, whatever is queued: strict mode objects where queued work uses the bytes.
Status copy_at_once(const char* name, const Copy& copy) {
  ASCEND_TWIN_TRY(host_touches(copy.to, reach(copy, copy.to_pitch), true, name));
  ASCEND_TWIN_TRY(host_touches(copy.from, reach(copy, copy.from_pitch), false, name));
  return copy_now(copy);
}

/// Asynchronous where the host's side is pinned; else the stream is drained and the copy done at
/// once.
Status copy_in_stream(const char* name, const Copy& copy, aclrtStream handle) {
  std::shared_ptr<Stream> stream;
  ASCEND_TWIN_TRY(stream_of(handle, &stream));
  if (copy.width == 0 || copy.height == 0) return ACL_SUCCESS;
  if (!has_one_memory()) {
    const Place to = place_of(copy.to), from = place_of(copy.from);
    if (to != Place::kDevice && from != Place::kDevice)
      return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "both ends of the copy are the host's");
    if (to == Place::kPageable || from == Place::kPageable) {
      if (const std::shared_ptr<Recorder> recorder = stream->recorder()) {
        recorder->invalidate();
        return refuse(ACL_ERROR_RT_CAPTURE_BLOCK_ASYNC,
                      "EE1016: a copy of pageable memory cannot be captured");
      }
      ASCEND_TWIN_TRY(check_no_global_capture());
      ASCEND_TWIN_TRY(check_can_wait());
      count(ASCEND_TWIN_DRAINS);
      stream->wait_for(stream->last_ticket());
      return copy_at_once(name, copy);
    }
  }
  auto task = task_of(Task::Kind::kCopy, name);
  task->extents.push_back({copy.to, reach(copy, copy.to_pitch), true, "destination"});
  task->extents.push_back({copy.from, reach(copy, copy.from_pitch), false, "source"});
  // Held until the end: the bytes stay readable for the twin if the program frees them.
  std::vector<std::shared_ptr<Range>> pinned;
  for (const void* address : {static_cast<const void*>(copy.to), copy.from}) {
    auto range = space().range_of(address);
    if (range != nullptr && range->is_pinned()) pinned.push_back(std::move(range));
  }
  task->body = [copy, pinned](const Run&) -> Status {
    for (const auto& range : pinned) {
      if (space().range_of(reinterpret_cast<const void*>(range->begin)) == range) continue;
      return refuse(ACL_ERROR_RT_AICORE_EXCEPTION,
                    "allocation " + std::to_string(range->number) + " of the host is freed");
    }
    return copy_now(copy, ACL_ERROR_RT_AICORE_EXCEPTION);
  };
  return stream->submit(std::move(task));
}

Status check_fill(const void* address, std::size_t most, std::size_t count) {
  if (address == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the address is null");
  if (count > most) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID,
                  std::to_string(count) + " bytes of a memory of " + std::to_string(most));
  }
  return ACL_SUCCESS;
}

Status check_rows(const Copy& copy, std::int32_t kind) {
  constexpr std::size_t kMostWidth = 5'000'000;
  constexpr std::size_t kMostHeight = 5 << 20;
  if (copy.to == nullptr || copy.from == nullptr)
    return refuse(ACL_ERROR_INVALID_PARAM, "an address is null");
  if (kind < ACL_MEMCPY_HOST_TO_DEVICE || kind > ACL_MEMCPY_DEFAULT)
    return refuse(ACL_ERROR_INVALID_PARAM, "kind of copy " + std::to_string(kind));
  if (copy.width > copy.to_pitch || copy.width > copy.from_pitch) {
    return refuse(ACL_ERROR_INVALID_PARAM,
                  "rows of " + std::to_string(copy.width) + " bytes are longer than a pitch");
  }
  if (copy.width == 0 || copy.width > kMostWidth || copy.height == 0 || copy.height > kMostHeight) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID, std::to_string(copy.height) + " rows of " +
                                                  std::to_string(copy.width) + " bytes");
  }
  if (has_one_memory()) return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip copies no rows");
  const bool within = place_of(copy.to) == Place::kDevice && place_of(copy.from) == Place::kDevice;
  if (within && profile() != nullptr && profile()->chip != k910b)
    return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip copies no rows within a device");
  return ACL_SUCCESS;
}

/// A batch: the attribute of each copy says where its ends are.
struct Batch {
  void** to;
  size_t* most;
  void** from;
  size_t* sizes;
  size_t count;
  aclrtMemcpyBatchAttr* attrs;
  size_t* indexes;
  size_t attr_count;
};

bool is_at(const void* address, aclrtMemLocation location) {
  return (place_of(address) == Place::kDevice) == (location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
}

Status check_batch(const Batch& batch, size_t* failed) {
  constexpr size_t kNone = ~size_t{0};
  if (failed != nullptr) *failed = kNone;
  if (profile() == nullptr || profile()->chip != k910b)
    return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip copies no batches");
  if (batch.to == nullptr || batch.most == nullptr || batch.from == nullptr ||
      batch.sizes == nullptr || batch.attrs == nullptr || batch.indexes == nullptr ||
      failed == nullptr)
    return refuse(ACL_ERROR_INVALID_PARAM, "a list is null");
  if (batch.count == 0 || batch.attr_count == 0 || batch.attr_count > batch.count ||
      batch.indexes[0] != 0)
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "the attributes do not cover the batch");
  for (size_t i = 1; i < batch.attr_count; ++i) {
    if (batch.indexes[i] <= batch.indexes[i - 1] || batch.indexes[i] >= batch.count)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "attributes that are not in order");
  }
  size_t attr = 0;
  for (size_t i = 0; i < batch.count; ++i) {
    while (attr + 1 < batch.attr_count && batch.indexes[attr + 1] <= i) ++attr;
    *failed = i;
    ASCEND_TWIN_TRY(
        check_copy(batch.to[i], batch.most[i], batch.from[i], batch.sizes[i], ACL_MEMCPY_DEFAULT));
    if (!is_at(batch.to[i], batch.attrs[attr].dstLoc) ||
        !is_at(batch.from[i], batch.attrs[attr].srcLoc)) {
      return refuse(ACL_ERROR_RT_PARAM_INVALID,
                    "copy " + std::to_string(i) + " is not where its attribute says");
    }
  }
  *failed = kNone;
  return ACL_SUCCESS;
}

template <class One>
Status copy_batch(const Batch& batch, size_t* failed, One one) {
  ASCEND_TWIN_TRY(check_batch(batch, failed));
  for (size_t i = 0; i < batch.count; ++i) {
    const Status code =
        one(Copy{.to = batch.to[i], .from = batch.from[i], .width = batch.sizes[i]});
    if (code == ACL_SUCCESS) continue;
    *failed = i;
    return code;
  }
  return ACL_SUCCESS;
}

}  // namespace

aclError aclrtMemcpy(void* to, size_t most, const void* from, size_t count, aclrtMemcpyKind kind) {
  return call("aclrtMemcpy", Need::kContext, [&]() -> Status {
    ASCEND_TWIN_TRY(check_copy(to, most, from, count, kind));
    ASCEND_TWIN_TRY(check_no_global_capture());
    return copy_at_once("aclrtMemcpy", {.to = to, .from = from, .width = count});
  });
}

aclError aclrtMemcpyAsync(void* to, size_t most, const void* from, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return call("aclrtMemcpyAsync", Need::kContext, [&]() -> Status {
    ASCEND_TWIN_TRY(check_copy(to, most, from, count, kind));
    return copy_in_stream("aclrtMemcpyAsync", {.to = to, .from = from, .width = count}, stream);
  });
}

aclError aclrtMemset(void* address, size_t most, int32_t value, size_t count) {
  return call("aclrtMemset", Need::kContext, [&]() -> Status {
    ASCEND_TWIN_TRY(check_fill(address, most, count));
    ASCEND_TWIN_TRY(check_no_global_capture());
    ASCEND_TWIN_TRY(host_touches(address, count, true, "aclrtMemset"));
    return fill_now(address, value, count);
  });
}

aclError aclrtMemsetAsync(void* address, size_t most, int32_t value, size_t count,
                          aclrtStream handle) {
  return call("aclrtMemsetAsync", Need::kContext, [&]() -> Status {
    ASCEND_TWIN_TRY(check_fill(address, most, count));
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    if (count == 0) return ACL_SUCCESS;
    if (!has_one_memory() && place_of(address) == Place::kPageable)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the address is no memory of the device");
    auto task = task_of(Task::Kind::kFill, "aclrtMemsetAsync");
    task->extents.push_back({address, count, true, "destination"});
    task->body = [address, value, count](const Run&) {
      return fill_now(address, value, count, ACL_ERROR_RT_AICORE_EXCEPTION);
    };
    return stream->submit(std::move(task));
  });
}

aclError aclrtMemcpy2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
  return call("aclrtMemcpy2d", Need::kContext, [&]() -> Status {
    const Copy copy{to, from, width, height, to_pitch, from_pitch};
    ASCEND_TWIN_TRY(check_rows(copy, kind));
    ASCEND_TWIN_TRY(check_no_global_capture());
    return copy_at_once("aclrtMemcpy2d", copy);
  });
}

aclError aclrtMemcpy2dAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                            size_t width, size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return call("aclrtMemcpy2dAsync", Need::kContext, [&]() -> Status {
    const Copy copy{to, from, width, height, to_pitch, from_pitch};
    ASCEND_TWIN_TRY(check_rows(copy, kind));
    return copy_in_stream("aclrtMemcpy2dAsync", copy, stream);
  });
}

aclError aclrtMemcpyBatch(void** to, size_t* most, void** from, size_t* sizes, size_t count,
                          aclrtMemcpyBatchAttr* attrs, size_t* indexes, size_t attr_count,
                          size_t* failed) {
  return call("aclrtMemcpyBatch", Need::kContext, [&]() -> Status {
    ASCEND_TWIN_TRY(check_no_global_capture());
    return copy_batch({to, most, from, sizes, count, attrs, indexes, attr_count}, failed,
                      [](const Copy& copy) { return copy_at_once("aclrtMemcpyBatch", copy); });
  });
}

aclError aclrtMemcpyBatchAsync(void** to, size_t* most, void** from, size_t* sizes, size_t count,
                               aclrtMemcpyBatchAttr* attrs, size_t* indexes, size_t attr_count,
                               size_t* failed, aclrtStream stream) {
  return call("aclrtMemcpyBatchAsync", Need::kContext, [&]() -> Status {
    return copy_batch({to, most, from, sizes, count, attrs, indexes, attr_count}, failed,
                      [stream](const Copy& copy) {
                        return copy_in_stream("aclrtMemcpyBatchAsync", copy, stream);
                      });
  });
}
