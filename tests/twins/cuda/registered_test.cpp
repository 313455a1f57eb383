// Host memory that was registered, and its protection by the host.
#include <sys/mman.h>

#include <cstdint>

#include "vectors.h"

namespace registered_test {
namespace {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;

constexpr size_t kBytes = size_t{1} << 16;

/// Pages of zeros, with a protection.
class Pages {
 public:
  /// Far from where the system puts other mappings, which would take the place of unmapped pages.
  explicit Pages(int protection)
      : at_(mmap(reinterpret_cast<void*>(std::uintptr_t{0x500000000000}), kBytes, protection,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(at_, MAP_FAILED);
  }
  ~Pages() {
    if (at_ != nullptr) unmap();
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void unmap() {
    EXPECT_EQ(munmap(at_, kBytes), 0);
    at_ = nullptr;
  }
  void protect(size_t from, size_t bytes, int protection) {
    EXPECT_EQ(mprotect(static_cast<char*>(at_) + from, bytes, protection), 0);
  }
  void* get() const { return at_; }
  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(at_); }

 private:
  void* at_;
};

/// Work that writes the first word of memory, or reads it.
struct Use {
  const char* name;
  CUresult (*run)(CUdeviceptr address);
};

CUresult run_kernel(CUdeviceptr address) {
  const Kernels kernels;
  const CUresult result = kernels.add_one(address, 1, nullptr);
  return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}
CUresult run_copy_from(CUdeviceptr address) {
  const Buffer<unsigned> device(1, 0);
  return cuMemcpyDtoD(device.address, address, 4);
}
CUresult run_copy_to(CUdeviceptr address) {
  const Buffer<unsigned> device(1, 0);
  return cuMemcpyDtoH(reinterpret_cast<void*>(address), device.address, 4);
}
CUresult run_fill(CUdeviceptr address) {
  return cuMemsetD32(address, 1, 1);
}
CUresult run_write_value(CUdeviceptr address) {
  const CUresult result = cuStreamWriteValue32(nullptr, address, 1, 0);
  return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}

constexpr Use kWrites[] = {{"kernel", &run_kernel},
                           {"copy", &run_copy_to},
                           {"fill", &run_fill},
                           {"write of a value", &run_write_value}};

TEST(Registered, PagesNeedTheAccessThatDevicesGet) {
  const Gpu gpu;
  const Pages none(PROT_NONE);
  const Pages read(PROT_READ);
  Pages part(PROT_READ | PROT_WRITE);
  ASSERT_EQ(mprotect(static_cast<char*>(part.get()) + kBytes / 2, 4096, PROT_READ), 0);
  for (const unsigned flags : {0U, static_cast<unsigned>(CU_MEMHOSTREGISTER_READ_ONLY)}) {
    EXPECT_EQ(cuMemHostRegister(none.get(), kBytes, flags), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cuMemHostRegister(read.get(), kBytes, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(part.get(), kBytes, 0), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemHostRegister(part.get(), kBytes / 2, 0));
  TWIN_OK(cuMemHostUnregister(part.get()));
}

TEST(Registered, DevicesReadReadOnlyMemory) {
  const Gpu gpu;
  const Pages read(PROT_READ);
  TWIN_OK(cuMemHostRegister(read.get(), kBytes, CU_MEMHOSTREGISTER_READ_ONLY));
  const Buffer<unsigned> copy(1, 7);
  TWIN_OK(cuMemcpyDtoD(copy.address, read.address(), 4));
  EXPECT_EQ(copy.read()[0], 0u);
  TWIN_OK(cuMemHostUnregister(read.get()));
}

TEST(Registered, DevicesDoNotWriteReadOnlyMemory) {
  for (const int protection : {PROT_READ, PROT_READ | PROT_WRITE}) {
    for (const Use& use : kWrites) {
      const Pages pages(protection);
      const Gpu gpu;
      TWIN_OK(cuMemHostRegister(pages.get(), kBytes, CU_MEMHOSTREGISTER_READ_ONLY));
      EXPECT_EQ(use.run(pages.address()), CUDA_ERROR_ILLEGAL_ADDRESS) << use.name;
      EXPECT_NE(std::string(cuda_twin_last_fault()).find("read-only"), std::string::npos)
          << cuda_twin_last_fault();
      EXPECT_EQ(*static_cast<unsigned*>(pages.get()), 0u) << use.name;
    }
  }
}

TEST(Registered, UnmappedMemoryIsThatOfNoDevice) {
  for (const Use& use : {kWrites[0], Use{"copy from it", &run_copy_from}}) {
    Pages pages(PROT_READ | PROT_WRITE);
    const Gpu gpu;
    TWIN_OK(cuMemHostRegister(pages.get(), kBytes, 0));
    const CUdeviceptr address = pages.address();
    TWIN_OK(cuMemsetD32(address, 1, 1));
    TWIN_OK(cuCtxSynchronize());
    const Buffer<unsigned> other(1, 0);  // its work comes before the end of the mapping
    pages.unmap();
    const CUresult result = use.run(address);
    EXPECT_TRUE(result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_INVALID_VALUE)
        << use.name << ": " << twin_test::name_of(result);
    (void)cuMemHostUnregister(reinterpret_cast<void*>(address));
  }
}

struct Part {
  size_t from, bytes;
};
constexpr Part kParts[] = {{0, kBytes}, {0, 4096}, {kBytes - 4096, 4096}};

/// The first or the last page, or all of them.
TEST(Registered, MemoryThatTheHostProtectsIsThatOfNoDevice) {
  for (const Part& part : kParts) {
    for (const Use& use : {kWrites[0], Use{"copy from it", &run_copy_from}}) {
      Pages pages(PROT_READ | PROT_WRITE);
      const Gpu gpu;
      TWIN_OK(cuMemHostRegister(pages.get(), kBytes, 0));
      TWIN_OK(cuMemsetD32(pages.address() + part.from, 1, 1));
      TWIN_OK(cuCtxSynchronize());
      const Buffer<unsigned> other(1, 0);
      pages.protect(part.from, part.bytes, PROT_NONE);
      const CUresult result = use.run(pages.address() + part.from);
      EXPECT_TRUE(result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_INVALID_VALUE)
          << use.name << " at " << part.from << ": " << twin_test::name_of(result);
      (void)cuMemHostUnregister(pages.get());
    }
  }
}

}  // namespace
}  // namespace registered_test
