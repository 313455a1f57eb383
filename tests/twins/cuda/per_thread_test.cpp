// Functions whose null stream is the calling thread's, found with a flag of cuGetProcAddress. The
// list of them is that of the vendor's cuda.h (__CUDA_API_PTDS and __CUDA_API_PTSZ).
#include <chrono>
#include <future>
#include <thread>

#include "support.h"

namespace per_thread_test {
namespace {

using twin_test::Buffer;
using twin_test::Gpu;

constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

template <class... Args>
auto found(const char* name, CUresult (*)(Args...), cuuint64_t flags = kPerThread) {
  void* address = nullptr;
  TWIN_OK(cuGetProcAddress(name, &address, 13000, flags, nullptr));
  return reinterpret_cast<CUresult (*)(Args...)>(address);
}

constexpr const char* kWithForm[] = {"cuMemcpy",
                                     "cuMemcpyHtoD",
                                     "cuMemcpyDtoH",
                                     "cuMemcpyDtoD",
                                     "cuMemcpyPeer",
                                     "cuMemcpy2D",
                                     "cuMemcpy2DUnaligned",
                                     "cuMemcpy3D",
                                     "cuMemcpy3DPeer",
                                     "cuMemsetD8",
                                     "cuMemsetD16",
                                     "cuMemsetD32",
                                     "cuMemsetD2D8",
                                     "cuMemsetD2D16",
                                     "cuMemsetD2D32",
                                     "cuMemcpyAsync",
                                     "cuMemcpyHtoDAsync",
                                     "cuMemcpyDtoHAsync",
                                     "cuMemcpyDtoDAsync",
                                     "cuMemcpyPeerAsync",
                                     "cuMemcpy2DAsync",
                                     "cuMemcpy3DAsync",
                                     "cuMemcpy3DPeerAsync",
                                     "cuMemsetD8Async",
                                     "cuMemsetD16Async",
                                     "cuMemsetD32Async",
                                     "cuMemsetD2D8Async",
                                     "cuMemsetD2D16Async",
                                     "cuMemsetD2D32Async",
                                     "cuMemAllocAsync",
                                     "cuMemAllocFromPoolAsync",
                                     "cuMemFreeAsync",
                                     "cuLaunchKernel",
                                     "cuLaunchKernelEx",
                                     "cuLaunchCooperativeKernel",
                                     "cuLaunchHostFunc",
                                     "cuStreamSynchronize",
                                     "cuStreamQuery",
                                     "cuStreamWaitEvent",
                                     "cuStreamGetFlags",
                                     "cuStreamGetPriority",
                                     "cuStreamGetCtx",
                                     "cuStreamGetId",
                                     "cuStreamWriteValue32",
                                     "cuStreamWriteValue64",
                                     "cuStreamWaitValue32",
                                     "cuStreamWaitValue64",
                                     "cuEventRecord",
                                     "cuEventRecordWithFlags",
                                     "cuStreamBeginCapture",
                                     "cuStreamBeginCaptureToGraph",
                                     "cuStreamEndCapture",
                                     "cuStreamIsCapturing",
                                     "cuStreamGetCaptureInfo",
                                     "cuStreamUpdateCaptureDependencies",
                                     "cuGraphInstantiateWithParams",
                                     "cuGraphUpload",
                                     "cuGraphLaunch"};

unsigned long long id_of(CUstream stream) {
  unsigned long long id = 0;
  TWIN_OK(cuStreamGetId(stream, &id));
  return id;
}

TEST(PerThreadStreams, ANullStreamIsTheThreads) {
  const Gpu gpu;
  const auto get_id = found("cuStreamGetId", &cuStreamGetId);
  unsigned long long mine = 0, legacy = 0, theirs = 0;
  TWIN_OK(get_id(nullptr, &mine));
  TWIN_OK(get_id(CU_STREAM_LEGACY, &legacy));
  EXPECT_EQ(mine, id_of(CU_STREAM_PER_THREAD));
  EXPECT_EQ(legacy, id_of(CU_STREAM_LEGACY));
  EXPECT_EQ(legacy, id_of(nullptr));  // the plain form is as before
  std::thread([&] {
    TWIN_OK(cuCtxSetCurrent(gpu.context));
    TWIN_OK(get_id(nullptr, &theirs));
  }).join();
  EXPECT_NE(theirs, mine);
  EXPECT_NE(theirs, legacy);
}

/// A blocking stream that is busy until the end of this object, or for ten seconds.
class Busy {
 public:
  Busy() {
    TWIN_OK(cuMemAllocHost(&word_, sizeof(std::uint32_t)));
    set(0);
    TWIN_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    TWIN_OK(cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(word_), 1,
                                CU_STREAM_WAIT_VALUE_EQ));
    rescue_ = std::thread([this, ended = ended_.get_future()] {
      (void)ended.wait_for(std::chrono::seconds(10));
      set(1);
    });
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    ended_.set_value();
    rescue_.join();
    TWIN_OK(cuStreamSynchronize(stream));
    TWIN_OK(cuStreamDestroy(stream));
    TWIN_OK(cuMemFreeHost(word_));
  }

  CUstream stream = nullptr;

 private:
  void set(std::uint32_t value) {
    __atomic_store_n(static_cast<std::uint32_t*>(word_), value, __ATOMIC_RELEASE);
  }
  void* word_ = nullptr;
  std::promise<void> ended_;
  std::thread rescue_;
};

/// The legacy stream would wait for the busy one.
TEST(PerThreadStreams, CopiesAndFillsAreInTheThreadsStream) {
  const Gpu gpu;
  const Buffer<unsigned> x(4, 7), y(4, 0);
  const Busy busy;
  TWIN_OK(found("cuMemsetD32", &cuMemsetD32)(x.address, 9, 2));
  TWIN_OK(found("cuMemcpyDtoD", &cuMemcpyDtoD)(y.address, x.address, 16));
  std::vector<unsigned> read(4);
  TWIN_OK(found("cuMemcpyDtoH", &cuMemcpyDtoH)(read.data(), y.address, 16));
  EXPECT_EQ(read, (std::vector<unsigned>{9, 9, 7, 7}));
  TWIN_OK(found("cuStreamSynchronize", &cuStreamSynchronize)(nullptr));
  TWIN_OK(found("cuStreamQuery", &cuStreamQuery)(nullptr));
  EXPECT_EQ(cuStreamQuery(busy.stream), CUDA_ERROR_NOT_READY);
}

/// In 11.3, the first version with the flag, and in 13.0.
TEST(PerThreadStreams, EachFunctionWithAStreamHasTheForm) {
  const Gpu gpu;
  for (const char* const name : kWithForm) {
    for (const int version : {11030, 13000}) {
      void* plain = nullptr;
      void* form = nullptr;
      if (cuGetProcAddress(name, &plain, version, 0, nullptr) != CUDA_SUCCESS) continue;
      TWIN_OK(cuGetProcAddress(name, &form, version, kPerThread, nullptr));
      EXPECT_NE(form, plain) << name << " of " << version;
    }
  }
}

TEST(PerThreadStreams, OthersHaveOneForm) {
  const Gpu gpu;
  EXPECT_EQ(found("cuMemAlloc", &cuMemAlloc), &cuMemAlloc);
  EXPECT_EQ(found("cuGraphInstantiate", &cuGraphInstantiate), &cuGraphInstantiate);
  EXPECT_EQ(found("cuMemcpy", &cuMemcpy, CU_GET_PROC_ADDRESS_LEGACY_STREAM), &cuMemcpy);
  EXPECT_NE(found("cuMemcpy", &cuMemcpy), &cuMemcpy);
  void* address = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuMemcpy", &address, 13000, 3, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuMemcpy", &address, 13000, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace per_thread_test
