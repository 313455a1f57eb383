// Copies and fills: at once, in streams, by rows, in batches, between devices.
#include <numeric>

#include "runtime_support.h"

namespace ascend_test {
namespace {

using MemoryCopies = TwinTest;

constexpr auto kCopyToDevice = ACL_MEMCPY_HOST_TO_DEVICE;
constexpr auto kCopyToHost = ACL_MEMCPY_DEVICE_TO_HOST;
constexpr auto kCopyWithin = ACL_MEMCPY_DEVICE_TO_DEVICE;

std::vector<std::uint8_t> counting_bytes(std::size_t count) {
  std::vector<std::uint8_t> values(count);
  std::iota(values.begin(), values.end(), std::uint8_t{1});
  return values;
}

TEST_F(MemoryCopies, CallsCheckTheirArguments) {
  Buffer buffer(64);
  std::uint8_t host[64] = {};
  void* const at = buffer.address();
  EXPECT_EQ(aclrtMemcpy(nullptr, 64, host, 64, kCopyToDevice), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(at, 64, nullptr, 64, kCopyToDevice), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(at, 63, host, 64, kCopyToDevice), ACL_ERROR_RT_PARAM_INVALID);
  for (const int kind : {-1, 6, 7, 8})
    EXPECT_EQ(aclrtMemcpy(at, 64, host, 64, static_cast<aclrtMemcpyKind>(kind)),
              ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(at, 64, host, 0, kCopyToDevice), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(at, 64, host, 64, kCopyToHost), ACL_SUCCESS);  // the addresses decide
  EXPECT_EQ(aclrtMemcpyAsync(nullptr, 64, host, 64, kCopyToDevice, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpyAsync(at, 1, host, 64, kCopyToDevice, nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpyAsync(at, 64, host, 0, kCopyToDevice, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(at, 64, host, 64, kCopyToDevice, host), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtMemset(nullptr, 64, 0, 64), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(at, 63, 0, 64), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemset(host, 64, 0, 64), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemsetAsync(nullptr, 64, 0, 64, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemsetAsync(at, 63, 0, 64, nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemsetAsync(host, 64, 0, 64, nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemsetAsync(at, 64, 0, 0, nullptr), ACL_SUCCESS);
}

TEST_F(MemoryCopies, PastAnEndOrOfFreedMemoryAreRefused) {
  Buffer buffer(64);
  std::vector<std::uint8_t> host(256);
  EXPECT_EQ(aclrtMemcpy(host.data(), 256, buffer.address(), 97, kCopyToHost),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(refused_with("1 bytes past the end of allocation"));
  EXPECT_EQ(aclrtMemset(buffer.address(), 97, 0, 97), ACL_ERROR_RT_PARAM_INVALID);
  void* gone = nullptr;
  ASSERT_EQ(aclrtMalloc(&gone, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(gone), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(gone, 64, host.data(), 64, kCopyToDevice), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(refused_with("is freed"));
}

TEST_F(MemoryCopies, PinnedOnesHappenInTheirTurnWithTheBytesOfThen) {
  restart({{"ORDER", "lazy"}});
  Pinned pinned(4);
  Buffer target(4);
  pinned.as<std::uint32_t>()[0] = 1;
  ASSERT_EQ(aclrtMemcpyAsync(target.address(), 4, pinned.address(), 4, kCopyToDevice, nullptr),
            ACL_SUCCESS);
  pinned.as<std::uint32_t>()[0] = 2;
  ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(target.get<std::uint32_t>()[0], 2U);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_DRAINS), 0U);
}

TEST_F(MemoryCopies, PageableOnesDrainTheStream) {
  restart({{"ORDER", "lazy"}});
  OwnStream stream;
  Buffer target(4);
  std::uint32_t host = 0;
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 0x22, 4, stream.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(&host, 4, target.address(), 4, kCopyToHost, stream.get()),
            ACL_SUCCESS);
  EXPECT_EQ(host, 0x22222222U);  // without a wait
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_DRAINS), 1U);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_COPIES_TO_HOST), 1U);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_COPIED_BYTES_TO_HOST), 4U);
}

TEST_F(MemoryCopies, BetweenTwoPlacesOfTheHostNoStreamCopies) {
  Pinned pinned(4);
  std::uint32_t host = 7;
  EXPECT_EQ(aclrtMemcpyAsync(pinned.address(), 4, &host, 4, ACL_MEMCPY_HOST_TO_HOST, nullptr),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtMemcpy(pinned.address(), 4, &host, 4, ACL_MEMCPY_HOST_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(pinned.as<std::uint32_t>()[0], 7U);
}

TEST_F(MemoryCopies, OnA310BNoneDrains) {
  restart({{"PROFILE", "310b"}, {"ORDER", "lazy"}});
  Buffer target(4);
  std::uint32_t host = 1;
  ASSERT_EQ(aclrtMemcpyAsync(target.address(), 4, &host, 4, kCopyToDevice, nullptr), ACL_SUCCESS);
  host = 2;
  ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(target.get<std::uint32_t>()[0], 2U);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_DRAINS), 0U);
}

TEST_F(MemoryCopies, ACaptureTakesNoPageableOnes) {
  OwnStream stream;
  Buffer target(4);
  std::uint32_t host = 1;
  aclmdlRI model = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(target.address(), 4, &host, 4, kCopyToDevice, stream.get()),
            ACL_ERROR_RT_CAPTURE_BLOCK_ASYNC);
  EXPECT_TRUE(refused_with("EE1016"));
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_DRAINS), 0U);
}

TEST_F(MemoryCopies, AGlobalCaptureForbidsThoseAtOnce) {
  OwnStream stream, other;
  Buffer target(4);
  std::uint32_t host = 1;
  const std::function<aclError()> calls[] = {
      [&] { return aclrtMemcpy(target.address(), 4, &host, 4, kCopyToDevice); },
      [&] { return aclrtMemset(target.address(), 4, 1, 4); },
      [&] { return aclrtMemcpy2d(target.address(), 4, &host, 4, 4, 1, kCopyToDevice); },
      [&] { return aclrtMemcpyAsync(target.address(), 4, &host, 4, kCopyToDevice, other.get()); }};
  for (const auto& forbidden : calls) {
    aclmdlRI model = nullptr;
    ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
    EXPECT_EQ(forbidden(), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  }
}

TEST_F(MemoryCopies, ACapturedStreamCannotBeWaitedFor) {
  OwnStream stream;
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  const std::function<aclError()> calls[] = {
      [&] { return aclrtSynchronizeStream(stream.get()); },
      [&] { return aclrtSynchronizeStreamWithTimeout(stream.get(), 5); },
      [&] { return aclrtStreamQuery(stream.get(), &status); },
      [&] { return aclrtDestroyStream(stream.get()); },
      [&] { return aclrtDestroyStreamForce(stream.get()); },
      [&] { return aclrtStreamAbort(stream.get()); },
      [&] { return aclrtSynchronizeDevice(); }};
  for (const auto& forbidden : calls) {
    aclmdlRI model = nullptr;
    ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
    EXPECT_EQ(forbidden(), ACL_ERROR_RT_STREAM_CAPTURED);
    EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  }
}

TEST_F(MemoryCopies, AFillIsOfBytes) {
  Buffer target(8);
  ASSERT_EQ(aclrtMemset(target.address(), 8, 0x1234, 8), ACL_SUCCESS);
  EXPECT_EQ(target.get<std::uint8_t>(), std::vector<std::uint8_t>(8, 0x34));
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 8, -1, 3, nullptr), ACL_SUCCESS);
  ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(target.get<std::uint8_t>(),
            (std::vector<std::uint8_t>{255, 255, 255, 0x34, 0x34, 0x34, 0x34, 0x34}));
}

/// Rows of 3 bytes at distances of 5 and 4.
TEST_F(MemoryCopies, RowsHaveTheirPitches) {
  const std::vector<std::uint8_t> from = counting_bytes(10);
  Buffer target(12);
  for (const bool in_stream : {false, true}) {
    target.put(std::vector<std::uint8_t>(12));
    ASSERT_EQ(in_stream ? aclrtMemcpy2dAsync(target.address(), 4, from.data(), 5, 3, 2,
                                             kCopyToDevice, nullptr)
                        : aclrtMemcpy2d(target.address(), 4, from.data(), 5, 3, 2, kCopyToDevice),
              ACL_SUCCESS);
    EXPECT_EQ(target.get<std::uint8_t>(),
              (std::vector<std::uint8_t>{1, 2, 3, 0, 6, 7, 8, 0, 0, 0, 0, 0}));
  }
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_DRAINS), 1U);
}

TEST_F(MemoryCopies, RowsAreChecked) {
  Buffer target(64), more(64);
  std::uint8_t host[64] = {};
  void* const at = target.address();
  EXPECT_EQ(aclrtMemcpy2d(nullptr, 8, host, 8, 8, 1, kCopyToDevice), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(at, 8, host, 8, 9, 1, kCopyToDevice), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(at, 8, host, 8, 8, 1, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(at, 8, host, 8, 0, 1, kCopyToDevice), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy2d(at, 8, host, 8, 8, 0, kCopyToDevice), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy2d(at, 8, host, 8, 1, (5 << 20) + 1, kCopyToDevice),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy2d(at, 6000000, host, 6000000, 5000001, 1, kCopyToDevice),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy2dAsync(at, 8, host, 8, 9, 1, kCopyToDevice, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(at, 8, more.address(), 8, 8, 2, kCopyWithin), ACL_SUCCESS);
}

TEST_F(MemoryCopies, The310sCopyFewerRows) {
  std::uint8_t host[64] = {};
  restart({{"PROFILE", "310p"}});
  {
    Buffer target(64), more(64);
    EXPECT_EQ(aclrtMemcpy2d(target.address(), 8, host, 8, 8, 2, kCopyToDevice), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy2d(target.address(), 8, more.address(), 8, 8, 2, kCopyWithin),
              ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  }
  restart({{"PROFILE", "310b"}});
  Buffer target(64);
  EXPECT_EQ(aclrtMemcpy2d(target.address(), 8, host, 8, 8, 2, kCopyToDevice),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

/// Copies of a batch: one to the device, one to the host.
class CopyBatch {
 public:
  CopyBatch() : device_(16), pinned_(16) {
    device_.put(std::vector<std::uint8_t>(16, 9));
    auto* const host = pinned_.as<std::uint8_t>();
    host[0] = 5;
    to[0] = device_.address();
    from[0] = host;
    to[1] = host + 8;
    from[1] = static_cast<std::byte*>(device_.address()) + 8;
    attrs[0].dstLoc.type = attrs[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attrs[0].srcLoc.type = attrs[1].dstLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
  }
  aclError at_once() {
    return NEWER(aclrtMemcpyBatch)(to, most, from, sizes, count, attrs, indexes, attr_count,
                                   &failed);
  }
  aclError in_stream() {
    return NEWER(aclrtMemcpyBatchAsync)(to, most, from, sizes, count, attrs, indexes, attr_count,
                                        &failed, nullptr);
  }
  void expect_copied() const {
    EXPECT_EQ(device_.get<std::uint8_t>()[0], 5);
    EXPECT_EQ(pinned_.as<std::uint8_t>()[8], 9);
  }

  void* to[2] = {};
  void* from[2] = {};
  std::size_t most[2] = {8, 8}, sizes[2] = {8, 8}, indexes[2] = {0, 1};
  std::size_t count = 2, attr_count = 2, failed = 0;
  aclrtMemcpyBatchAttr attrs[2] = {};

 private:
  Buffer device_;
  Pinned pinned_;
};

TEST_F(MemoryCopies, ABatchIsCopied) {
  {
    CopyBatch batch;
    ASSERT_EQ(batch.at_once(), ACL_SUCCESS);
    EXPECT_EQ(batch.failed, ~std::size_t{0});
    batch.expect_copied();
  }
  CopyBatch batch;
  ASSERT_EQ(batch.in_stream(), ACL_SUCCESS);
  ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
  batch.expect_copied();
}

TEST_F(MemoryCopies, ABatchNamesTheCopyThatFails) {
  CopyBatch batch;
  batch.sizes[1] = 9;
  EXPECT_EQ(batch.at_once(), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(batch.failed, 1U);
  batch.sizes[1] = 8;
  batch.attrs[0].dstLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(batch.in_stream(), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(batch.failed, 0U);
  batch.attrs[0].dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  batch.attr_count = 3;
  EXPECT_EQ(batch.at_once(), ACL_ERROR_RT_PARAM_INVALID);
  batch.attr_count = 2;
  batch.indexes[1] = 0;
  EXPECT_EQ(batch.at_once(), ACL_ERROR_RT_PARAM_INVALID);
  batch.indexes[1] = 1;
  batch.indexes[0] = 1;
  EXPECT_EQ(batch.at_once(), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(NEWER(aclrtMemcpyBatch)(nullptr, batch.most, batch.from, batch.sizes, 2, batch.attrs,
                                    batch.indexes, 2, &batch.failed),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(MemoryCopies, The310sCopyNoBatches) {
  for (const char* chip : {"310p", "310b"}) {
    restart({{"PROFILE", chip}});
    CopyBatch batch;
    EXPECT_EQ(batch.at_once(), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(batch.in_stream(), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  }
}

TEST_F(MemoryCopies, PeersNeedBothDirections) {
  restart({{"DEVICES", "2"}});
  Buffer source(8);
  source.put(counting_bytes(8));
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  {
    Buffer target(8);
    const auto copy = [&] {
      return aclrtMemcpy(target.address(), 8, source.address(), 8, kCopyWithin);
    };
    EXPECT_EQ(copy(), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    ASSERT_EQ(aclrtDeviceEnablePeerAccess(0, 0), ACL_SUCCESS);
    EXPECT_EQ(copy(), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
    EXPECT_EQ(copy(), ACL_SUCCESS);
    EXPECT_EQ(target.get<std::uint8_t>(), counting_bytes(8));
    EXPECT_EQ(aclrtMemcpyAsync(target.address(), 8, source.address(), 8, kCopyWithin, nullptr),
              ACL_SUCCESS);
    EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
    EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_COPIES_WITHIN), 2U);
  }
}

TEST_F(MemoryCopies, BytesThatWereNeverWrittenStaySoWithinADevice) {
  restart({{"STRICT", "status"}});
  Buffer half(8), copy(8);
  half.put(std::vector<float>{1});
  ASSERT_EQ(aclrtMemcpy(copy.address(), 8, half.address(), 8, kCopyWithin), ACL_SUCCESS);
  Tensor<float> sum(ACL_FLOAT, {1}, {1});
  const auto add_element = [&](std::int64_t offset) {
    const std::int64_t shape[] = {1};
    const std::int64_t storage[] = {2};
    aclTensor* const element = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, offset, ACL_FORMAT_ND,
                                               storage, 1, copy.address());
    float alpha = 1;
    aclScalar* const one = aclCreateScalar(&alpha, ACL_FLOAT);
    const aclError code = RUN_OP(Add, sum.get(), element, one, sum.get());
    aclDestroyScalar(one);
    aclDestroyTensor(element);
    return code;
  };
  EXPECT_EQ(add_element(0), ACL_SUCCESS);
  EXPECT_EQ(add_element(1), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_TRUE(objected_to("never written"));
}

TEST_F(MemoryCopies, StrictModeObjectsToACopyUnderQueuedWork) {
  restart({{"ORDER", "lazy"}, {"STRICT", "status"}});
  Buffer buffer(8);
  std::uint8_t host[8] = {};
  ASSERT_EQ(aclrtMemsetAsync(buffer.address(), 8, 1, 8, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(host, 8, buffer.address(), 8, kCopyToHost), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("queued work"));
  EXPECT_EQ(aclrtMemset(buffer.address(), 8, 1, 8), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(host, 8, buffer.address(), 8, kCopyToHost), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_test
