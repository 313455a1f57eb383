// Objections of strict mode to workspaces, bases, mapped memory, host functions and leftovers; and
// the late errors without it.
#include "runtime_support.h"

namespace ascend_test::strict_memory_tests {
namespace {

using Floats = std::vector<float>;
using Halves = std::vector<std::uint16_t>;

class StrictMemoryTest : public TwinTest {
 protected:
  static std::uint64_t objections() { return ascend_twin_count(ASCEND_TWIN_OBJECTIONS); }
};
class StrictMemoryThreadTest : public StrictMemoryTest {};

/// A first phase that asks for a workspace.
struct Gated {
  Gated() : x(ACL_FLOAT, {2}, {0, 1}), out(ACL_FLOAT, {1}, {7}) {
    EXPECT_EQ(aclnnSwiGluGetWorkspaceSize(x.get(), 0, out.get(), &bytes, &executor), ACL_SUCCESS);
    EXPECT_GT(bytes, 64U);
  }
  aclError run(void* workspace, aclrtStream stream = nullptr) {
    return aclnnSwiGlu(workspace, bytes, executor, stream);
  }
  Tensor<float> x, out;
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
};

void* allocate(std::size_t bytes) {
  void* address = nullptr;
  EXPECT_EQ(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  return address;
}

TEST_F(StrictMemoryTest, AFreedWorkspace) {
  for (const char* strict : {"status", "off"}) {
    restart({{"STRICT", strict}});
    Gated gated;
    void* const workspace = allocate(gated.bytes);
    ASSERT_EQ(aclrtFree(workspace), ACL_SUCCESS);
    if (std::string(strict) == "status") {
      EXPECT_EQ(gated.run(workspace), ACLNN_ERR_PARAM_INVALID);
      EXPECT_TRUE(objected_to("the workspace: allocation"));
      EXPECT_TRUE(objected_to("is freed"));
    } else {
      EXPECT_EQ(gated.run(workspace), ACL_SUCCESS);
      EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
    }
    EXPECT_EQ(gated.out.values(), (Floats{7}));
  }
}

TEST_F(StrictMemoryTest, AWorkspaceThatIsFreedBeforeItsTurn) {
  restart({{"ORDER", "lazy"}});
  Gated gated;
  void* const workspace = allocate(gated.bytes);
  EXPECT_EQ(gated.run(workspace), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(workspace), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(gated.out.values(), (Floats{7}));
}

TEST_F(StrictMemoryTest, AnAllocationThatIsTooSmallForTheWorkspace) {
  restart({{"STRICT", "status"}});
  {
    Gated gated;
    Buffer small(64);
    EXPECT_EQ(gated.run(small.address()), ACLNN_ERR_PARAM_INVALID);
    EXPECT_TRUE(objected_to("the workspace"));
  }
  {
    Gated gated;  // the tail is no room
    Buffer small(gated.bytes - 16);
    EXPECT_EQ(gated.run(small.address()), ACLNN_ERR_PARAM_INVALID);
  }
  {
    Gated gated;
    Buffer enough(gated.bytes);
    EXPECT_EQ(gated.run(enough.address()), ACL_SUCCESS);
    EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
    EXPECT_EQ(gated.out.values(), (Floats{0}));  // silu(0) * 1
  }
  EXPECT_EQ(objections(), 2U);
}

TEST_F(StrictMemoryTest, AWorkspaceOfTheHost) {
  restart({{"STRICT", "status"}});
  Gated gated;
  const Pinned pinned(gated.bytes);
  EXPECT_EQ(gated.run(pinned.address()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_TRUE(objected_to("pinned memory of the host"));
}

TEST_F(StrictMemoryTest, AWorkspaceOfTwoStreams) {
  restart({{"STRICT", "status"}, {"ORDER", "lazy"}});
  const OwnStream a, b;
  Gated first, second;
  Buffer shared(first.bytes);
  EXPECT_EQ(first.run(shared.address(), a.get()), ACL_SUCCESS);
  EXPECT_EQ(second.run(shared.address(), b.get()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("(workspace) of another stream"));
  EXPECT_EQ(sync(a.get()), ACL_SUCCESS);
}

TEST_F(StrictMemoryTest, ABaseThatIsSetBetweenThePhases) {
  for (const char* strict : {"status", "off"}) {
    restart({{"STRICT", strict}});
    const bool objects = std::string(strict) == "status";
    Tensor<float> self(ACL_FLOAT, {1}, {1}), other(ACL_FLOAT, {1}, {2}), out(ACL_FLOAT, {1}, {0});
    Buffer four(16);
    four.put(Floats{3, 4, 5, 6});
    float one = 1;
    aclScalar* const alpha = aclCreateScalar(&one, ACL_FLOAT);
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(
        aclnnAddGetWorkspaceSize(self.get(), other.get(), alpha, out.get(), &bytes, &executor),
        ACL_SUCCESS);
    ASSERT_EQ(
        aclSetInputTensorAddr(executor, 0, self.get(), static_cast<std::byte*>(four.address()) + 4),
        ACL_SUCCESS);
    EXPECT_EQ(aclnnAdd(nullptr, 0, executor, nullptr),
              objects ? ACLNN_ERR_PARAM_INVALID : ACL_SUCCESS);
    EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
    EXPECT_EQ(out.values(), (Floats{objects ? 0.0F : 6.0F}));
    EXPECT_EQ(objections(), objects ? 1U : 0U);
    if (objects) {
      EXPECT_TRUE(objected_to("its base not on 32 bytes"));
    }
    aclDestroyScalar(alpha);
  }
}

TEST_F(StrictMemoryTest, AnOperandOfAnotherDeviceNeedsAccess) {
  restart({{"DEVICES", "2"}});
  Tensor<float> there(ACL_FLOAT, {1}, {2});
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  {
    Tensor<float> here(ACL_FLOAT, {1}, {1});
    EXPECT_EQ(add_to(here.get(), there.get(), 1, nullptr), ACL_SUCCESS);
    EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    EXPECT_EQ(here.values(), (Floats{1}));
    ASSERT_EQ(aclrtDeviceEnablePeerAccess(0, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    EXPECT_EQ(add_to(here.get(), there.get(), 1, nullptr), ACL_SUCCESS);
    EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
    EXPECT_EQ(here.values(), (Floats{3}));
  }
}

/// Addresses of pages, and physical memory.
constexpr std::size_t kPage = 2 << 20;
void* reserve(std::size_t pages) {
  void* base = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(&base, pages * kPage, 0, nullptr, 1), ACL_SUCCESS);
  return base;
}
aclrtDrvMemHandle physical(std::size_t pages, std::uint32_t device = 0) {
  aclrtPhysicalMemProp wanted = {};
  wanted.memAttr = ACL_HBM_MEM_HUGE;
  wanted.location = {device, ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&handle, pages * kPage, &wanted, 0), ACL_SUCCESS);
  return handle;
}

TEST_F(StrictMemoryTest, MemoryUnmappedUnderQueuedWork) {
  for (const char* strict : {"status", "off"}) {
    restart({{"STRICT", strict}, {"ORDER", "lazy"}});
    void* const base = reserve(2);
    void* const second = static_cast<std::byte*>(base) + kPage;
    ASSERT_EQ(aclrtMapMem(base, kPage, 0, physical(1), 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtMapMem(second, kPage, 0, physical(1), 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemsetAsync(base, kPage, 1, kPage, nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtUnmapMem(second), ACL_SUCCESS);  // not the page that is used
    if (std::string(strict) == "status") {
      EXPECT_EQ(aclrtUnmapMem(base), ACL_ERROR_RT_PARAM_INVALID);
      EXPECT_TRUE(objected_to("aclrtUnmapMem of memory that queued work uses"));
      EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
      EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
    } else {
      EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
      EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
    }
  }
}

TEST_F(StrictMemoryThreadTest, MemoryUnmappedUnderWorkIsNoCrash) {
  constexpr std::size_t kPages = 4;
  void* const base = reserve(kPages);
  const aclrtDrvMemHandle handle = physical(kPages);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(aclrtMapMem(base, kPages * kPage, 0, handle, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemsetAsync(base, kPages * kPage, i, kPages * kPage, nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
    const aclError code = sync(nullptr);
    ASSERT_TRUE(code == ACL_SUCCESS || code == ACL_ERROR_RT_AICORE_EXCEPTION) << code;
  }
}

TEST_F(StrictMemoryThreadTest, HostMemoryFreedUnderACopyIsNoCrash) {
  constexpr std::size_t kBytes = 4 << 20;
  Buffer target(kBytes);
  for (int i = 0; i < 20; ++i) {
    void* pinned = nullptr;
    ASSERT_EQ(aclrtMallocHost(&pinned, kBytes), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemcpyAsync(target.address(), kBytes, pinned, kBytes, ACL_MEMCPY_HOST_TO_DEVICE,
                               nullptr),
              ACL_SUCCESS);
    ASSERT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
    const aclError code = sync(nullptr);
    ASSERT_TRUE(code == ACL_SUCCESS || code == ACL_ERROR_RT_AICORE_EXCEPTION) << code;
  }
}

TEST_F(StrictMemoryTest, HostMemoryFreedBeforeTheTurnOfItsCopy) {
  restart({{"ORDER", "lazy"}});
  Tensor<float> target(ACL_FLOAT, {1}, {1});
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 4), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(target.address(), 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(target.values(), (Floats{1}));
}

TEST_F(StrictMemoryTest, AReservationHasTheMemoryOfOneDevice) {
  restart({{"DEVICES", "2"}});
  void* const base = reserve(2);
  void* const second = static_cast<std::byte*>(base) + kPage;
  const aclrtDrvMemHandle other = physical(1, 1);
  ASSERT_EQ(aclrtMapMem(base, kPage, 0, physical(1, 0), 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMapMem(second, kPage, 0, other, 0), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  EXPECT_EQ(aclrtMapMem(second, kPage, 0, other, 0), ACL_SUCCESS);
  aclrtPtrAttributes attributes = {};
  ASSERT_EQ(aclrtPointerGetAttributes(second, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.id, 1U);
}

TEST_F(StrictMemoryTest, NzOfOneMappingIsNotNzOfTheNext) {
  restart({{"STRICT", "status"}});
  constexpr std::size_t kBytes = 16 * 32 * 2;
  void* const base = reserve(1);
  const aclrtDrvMemHandle plain = physical(1), weight = physical(1);
  for (const aclrtDrvMemHandle handle : {plain, weight}) {
    ASSERT_EQ(aclrtMapMem(base, kPage, 0, handle, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemset(base, kBytes, 0, kBytes), ACL_SUCCESS);
    if (handle == plain) {
      ASSERT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
    }
  }
  const std::int64_t shape[] = {16, 32}, storage[] = {16 * 32};
  aclTensor* const converted =
      aclCreateTensor(shape, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, storage, 1, base);
  ASSERT_EQ(RUN_OP(TransMatmulWeight, converted), ACL_SUCCESS) << ascend_twin_last_message();
  aclDestroyTensor(converted);
  aclTensor* const read =
      aclCreateTensor(shape, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, storage, 1, base);
  Tensor<std::uint16_t> out(ACL_FLOAT16, {16, 32}, Halves(16 * 32, 0x3C00));
  // Here it is NZ; in the other mapping it is not.
  ASSERT_EQ(add_to(out.get(), read, 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(objections(), 1U);
  ASSERT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(base, kPage, 0, plain, 0), ACL_SUCCESS);
  ASSERT_EQ(add_to(out.get(), read, 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(objections(), 1U) << ascend_twin_last_objection();
  EXPECT_EQ(out.values(), Halves(16 * 32, 0x3C00));
  aclDestroyTensor(read);
}

TEST_F(StrictMemoryTest, AReplayOverAnotherMappingIsOverFreedMemory) {
  restart({{"STRICT", "status"}});
  const OwnStream stream;
  void* const base = reserve(1);
  ASSERT_EQ(aclrtMapMem(base, kPage, 0, physical(1), 0), ACL_SUCCESS);
  const aclmdlRI model = capture_of(stream.get(), [&] {
    EXPECT_EQ(aclrtMemsetAsync(base, 64, 1, 64, stream.get()), ACL_SUCCESS);
  });
  ASSERT_EQ(aclmdlRIExecuteAsync(model, stream.get()), ACL_SUCCESS);
  ASSERT_EQ(sync(stream.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(base, kPage, 0, physical(1), 0), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIExecuteAsync(model, stream.get()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("a replay over freed memory"));
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
}

TEST_F(StrictMemoryTest, AHostFunctionMayWriteWhatTheNextCopyReads) {
  restart({{"STRICT", "status"}, {"ORDER", "lazy"}});
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  const Pinned pinned(4);
  *pinned.as<float>() = 5;
  ASSERT_EQ(NEWER(aclrtLaunchHostFunc)(
                nullptr, [](void* value) { *static_cast<float*>(value) = 6; }, pinned.address()),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(tensor.address(), 4, pinned.address(), 4, ACL_MEMCPY_HOST_TO_DEVICE,
                             nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(tensor.values(), (Floats{6}));
  EXPECT_EQ(objections(), 0U) << ascend_twin_last_objection();
}

TEST_F(StrictMemoryTest, StreamsAndContextsThatAreLeftAtFinalise) {
  for (const char* strict : {"status", "off"}) {
    restart({{"STRICT", strict}});
    aclrtContext context = nullptr;
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    if (std::string(strict) == "status") {
      EXPECT_EQ(aclFinalize(), ACL_ERROR_INTERNAL_ERROR);
      EXPECT_TRUE(objected_to("1 contexts"));
      EXPECT_TRUE(objected_to("2 streams"));
    } else {
      EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
    }
    EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_STREAMS), 0U);
  }
}

}  // namespace
}  // namespace ascend_test::strict_memory_tests
