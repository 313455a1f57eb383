// A library with the interface of CANN that computes nothing and returns at once: what remains of a
// step is the host's own time. CMake adds the operators.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<std::uint64_t> launches, replays;
int object;  // that handles point to

int give(void** handle) {
  *handle = &object;
  return 0;
}

}  // namespace

extern "C" {

std::uint64_t hollow_launches() {
  return launches;
}
std::uint64_t hollow_replays() {
  return replays;
}
int hollow_launch() {
  ++launches;
  return 0;
}

const char* aclGetRecentErrMsg() {
  return "";
}
const char* aclrtGetSocName() {
  return "Ascend910B1";
}
int aclrtGetVersion(std::int32_t* major, std::int32_t* minor, std::int32_t* patch) {
  *major = 8;
  *minor = 1;
  *patch = 0;
  return 0;
}
int aclrtGetRunMode(int* mode) {
  *mode = 1;
  return 0;
}
int aclrtGetDeviceCount(std::uint32_t* count) {
  *count = 1;
  return 0;
}
int aclGetDeviceCapability(std::uint32_t, int, std::int64_t* value) {
  *value = 24;
  return 0;
}
int aclrtGetCurrentContext(void** context) {
  return give(context);
}
int aclrtGetMemInfo(int, std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 35;
  return 0;
}
int aclrtMalloc(void** address, std::size_t bytes, int) {
  *address = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *address == nullptr ? 207001 : 0;
}
int aclrtMallocHost(void** address, std::size_t bytes) {
  return aclrtMalloc(address, bytes, 0);
}
int aclrtFree(void* address) {
  std::free(address);
  return 0;
}
int aclrtFreeHost(void* address) {
  return aclrtFree(address);
}
int aclrtMemcpy(void* to, std::size_t, const void* from, std::size_t bytes, int) {
  std::memcpy(to, from, bytes);
  return 0;
}
int aclrtMemcpyAsync(void* to, std::size_t, const void* from, std::size_t bytes, int, void*) {
  std::memcpy(to, from, bytes);
  return 0;
}
int aclrtMemcpy2dAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t height, int, void*) {
  for (std::size_t row = 0; row < height; ++row) {
    std::memcpy(static_cast<char*>(to) + row * to_pitch,
                static_cast<const char*>(from) + row * from_pitch, width);
  }
  return 0;
}
int aclrtMemset(void* at, std::size_t, std::int32_t value, std::size_t bytes) {
  std::memset(at, value, bytes);
  return 0;
}
int aclrtCreateStream(void** stream) {
  return give(stream);
}
int aclrtStreamQuery(void*, int* status) {
  *status = 0;
  return 0;
}
int aclrtCreateEventExWithFlag(void** event, std::uint32_t) {
  return give(event);
}
int aclmdlRICaptureEnd(void*, void** model) {
  return give(model);
}
int aclmdlRIExecuteAsync(void*, void*) {
  ++replays;
  return 0;
}
void* aclCreateTensor(const std::int64_t*, std::uint64_t, int, const std::int64_t*, std::int64_t,
                      int, const std::int64_t*, std::uint64_t, void*) {
  return &object;
}
void* aclCreateScalar(void*, int) {
  return &object;
}
void* aclCreateIntArray(const std::int64_t*, std::uint64_t) {
  return &object;
}
void* aclCreateTensorList(const void* const*, std::uint64_t) {
  return &object;
}

}  // extern "C"
