// Calls of the CUDA twin about memory: pitched, managed, pinned, registered; pools; copies and
// fills of rows; between devices.
#pragma once

#include "cuda_objects.h"

namespace shunt::fuzz {

class CudaMemoryCalls : public CudaObjects {
 protected:
  using CudaObjects::CudaObjects;

  void allocate_of_a_kind() {
    CUdeviceptr made = 0;
    void* host = nullptr;
    switch (bytes_.next(5)) {
      case 0: {
        std::size_t pitch = 0;
        const CUresult code =
            cuMemAllocPitch(&made, &pitch, bytes_.next() * 3, bytes_.next(5), 1u << bytes_.next(6));
        keep(addresses_, made, code);
        break;
      }
      case 1: {
        const CUresult code = cuMemAllocManaged(&made, 512, bytes_.next(5));
        keep(mapped_, made, code);
        break;
      }
      case 2: {
        const CUresult code = cuMemAllocHost(&host, 256 * bytes_.next(4));
        keep(pinned_, host, code);
        break;
      }
      case 3: {
        const CUresult code = cuMemHostAlloc(&host, 512, bytes_.next(16));
        keep(pinned_, host, code);
        break;
      }
      default:
        (void)cuMemHostRegister(&host_bytes[bytes_.next(3) * 4096 % host_bytes.size()],
                                bytes_.next(3) * 2048ull, bytes_.next(16));
    }
  }

  void free_host_memory() {
    if (bytes_.next(2) == 0) {
      (void)cuMemHostUnregister(&host_bytes[bytes_.next(3) * 2048]);
      (void)cuMemFree(any_device_address());
      return;
    }
    (void)cuMemFreeHost(any(pinned_));
  }

  void ask_about_memory() {
    const CUdeviceptr address = any_device_address();
    switch (bytes_.next(7)) {
      case 0: {
        CUdeviceptr base = 0;
        std::size_t size = 0;
        (void)cuMemGetAddressRange(&base, &size, address);
        break;
      }
      case 1: {
        CUdeviceptr made = 0;
        void* const host = bytes_.next(2) == 0 ? any(pinned_) : host_bytes.data();
        const CUresult code = cuMemHostGetDevicePointer(&made, host, bytes_.next(2));
        keep(mapped_, made, code);
        break;
      }
      case 2: {
        unsigned flags = 0;
        (void)cuMemHostGetFlags(&flags, any(pinned_));
        break;
      }
      case 3: {
        alignas(16) std::array<std::byte, 64> value{};
        (void)cuPointerGetAttribute(value.data(), static_cast<CUpointer_attribute>(bytes_.next(32)),
                                    address);
        break;
      }
      case 4: {
        alignas(16) std::array<std::array<std::byte, 64>, 2> values{};
        std::array<void*, 2> places = {values[0].data(), values[1].data()};
        std::array<CUpointer_attribute, 2> attributes = {
            static_cast<CUpointer_attribute>(bytes_.next(32)),
            static_cast<CUpointer_attribute>(bytes_.next(32))};
        (void)cuPointerGetAttributes(bytes_.next(3), attributes.data(), places.data(), address);
        break;
      }
      case 5: {
        unsigned long long flags = 0;
        const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, any_device()};
        (void)cuMemGetAccess(&flags, &location, address);
        break;
      }
      default: {
        CUmemGenericAllocationHandle handle = 0;
        const CUresult code =
            cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address));
        keep(physicals_, handle, code);
        CUmemAllocationProp prop{};
        (void)cuMemGetAllocationPropertiesFromHandle(&prop, handle);
      }
    }
  }

  void use_pool() {
    const CUmemoryPool pool = any(pools_);
    switch (bytes_.next(9)) {
      case 0: {
        CUmemPoolProps props{};
        props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        props.location = {CU_MEM_LOCATION_TYPE_DEVICE, any_device()};
        props.maxSize = bytes_.next(3) * (std::size_t{1} << 20);
        CUmemoryPool made = nullptr;
        const CUresult code = cuMemPoolCreate(&made, &props);
        keep(pools_, made, code);
        break;
      }
      case 1:
        (void)cuMemPoolDestroy(pool);
        break;
      case 2: {
        CUdeviceptr made = 0;
        const CUresult code =
            cuMemAllocFromPoolAsync(&made, bytes_.next() * 10000ull, pool, stream());
        keep(addresses_, made, code);
        break;
      }
      case 3: {
        std::uint64_t value = bytes_.next() * 100000ull;
        (void)cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(bytes_.next(10)),
                                    &value);
        break;
      }
      case 4: {
        std::uint64_t value = 0;
        (void)cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(bytes_.next(10)),
                                    &value);
        break;
      }
      case 5: {
        const CUmemAccessDesc desc = {{CU_MEM_LOCATION_TYPE_DEVICE, any_device()},
                                      static_cast<CUmemAccess_flags>(bytes_.next(5))};
        (void)cuMemPoolSetAccess(pool, &desc, bytes_.next(2));
        break;
      }
      case 6: {
        CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, any_device()};
        CUmemAccess_flags flags{};
        (void)cuMemPoolGetAccess(&flags, pool, &location);
        break;
      }
      case 7:
        (void)cuDeviceSetMemPool(any_device(), pool);
        break;
      default: {
        CUmemoryPool found = nullptr;
        const CUresult code = bytes_.next(2) == 0 ? cuDeviceGetDefaultMemPool(&found, any_device())
                                                  : cuDeviceGetMemPool(&found, any_device());
        keep(pools_, found, code);
        (void)cuMemPoolTrimTo(found, bytes_.next() * 10000ull);
      }
    }
  }

  void copy() {
    switch (bytes_.next(5)) {
      case 0: {
        const CUDA_MEMCPY2D params = rows<CUDA_MEMCPY2D>();
        call_either(params, cuMemcpy2D, cuMemcpy2DAsync);
        break;
      }
      case 1: {
        CUDA_MEMCPY3D params = rows<CUDA_MEMCPY3D>();
        params.Depth = bytes_.next(3);
        params.srcHeight = params.dstHeight = bytes_.next(4);
        call_either(params, cuMemcpy3D, cuMemcpy3DAsync);
        break;
      }
      case 2: {
        CUDA_MEMCPY3D_PEER params = rows<CUDA_MEMCPY3D_PEER>();
        params.Depth = 1;
        params.srcContext = any(contexts_);
        params.dstContext = any(contexts_);
        call_either(params, cuMemcpy3DPeer, cuMemcpy3DPeerAsync);
        break;
      }
      case 3:
        (void)cuMemcpyPeerAsync(any_address(), any(contexts_), any_address(), any(contexts_),
                                bytes_.next(), stream());
        break;
      default:
        (void)cuMemcpyAsync(any_address(), any_address(), bytes_.next(), stream());
    }
  }

  void fill() {
    const CUdeviceptr to = any_device_address() + bytes_.next(3);
    const std::size_t count = bytes_.next(64);
    const std::size_t pitch = bytes_.next(128);
    switch (bytes_.next(6)) {
      case 0:
        (void)cuMemsetD16Async(to, 7, count, stream());
        break;
      case 1:
        (void)cuMemsetD32Async(to, 7, count, stream());
        break;
      case 2:
        (void)cuMemsetD2D8Async(to, pitch, 7, count, bytes_.next(4), stream());
        break;
      case 3:
        (void)cuMemsetD2D16Async(to, pitch, 7, count, bytes_.next(4), stream());
        break;
      case 4:
        (void)cuMemsetD2D32Async(to, pitch, 7, count, bytes_.next(4), stream());
        break;
      default:
        (void)cuMemsetD32(to, 7, count);
    }
  }

  /// A word that streams write and wait for. Its values satisfy each wait, as nothing else writes
  /// it.
  void make_word() {
    require(cuMemAlloc(&word_, 8) == CUDA_SUCCESS);
    require(cuMemsetD8(word_, 0, 8) == CUDA_SUCCESS);
  }
  /// To be called before the word's context may end: its address may get other content then.
  void forget_word() { word_ = 0; }

  void use_values() {
    const CUstream in = stream();
    const CUdeviceptr at = bytes_.next(2) == 0 ? any_address() + bytes_.next(9) : word_;
    switch (bytes_.next(4)) {
      case 0:
        (void)cuStreamWriteValue32(in, at, 1, bytes_.next(2));
        break;
      case 1:
        (void)cuStreamWriteValue64(in, at, 1, bytes_.next(2));
        break;
      case 2:
        (void)cuStreamWaitValue32(in, word_, 0, CU_STREAM_WAIT_VALUE_GEQ);
        break;
      default:
        (void)cuStreamWaitValue64(in, word_, 0, CU_STREAM_WAIT_VALUE_GEQ);
    }
  }

 private:
  template <class Params>
  void call_either(const Params& params, CUresult (*now)(const Params*),
                   CUresult (*in_stream)(const Params*, CUstream)) {
    (void)(bytes_.next(2) == 0 ? now(&params) : in_stream(&params, stream()));
  }
  /// A copy of rows between device memory, host memory and memory of any kind.
  template <class Params>
  Params rows() {
    Params params{};
    params.srcMemoryType = static_cast<CUmemorytype>(bytes_.next(6));
    params.dstMemoryType = static_cast<CUmemorytype>(bytes_.next(6));
    params.srcDevice = any_address();
    params.dstDevice = any_address();
    params.srcHost = host_bytes.data();
    params.dstHost = host_bytes.data() + 4096;
    params.srcXInBytes = bytes_.next(16);
    params.dstXInBytes = bytes_.next(16);
    params.srcY = bytes_.next(2);
    params.dstY = bytes_.next(2);
    params.srcPitch = bytes_.next();
    params.dstPitch = bytes_.next();
    params.WidthInBytes = bytes_.next(64);
    params.Height = bytes_.next(4);
    return params;
  }

  std::vector<void*> pinned_;
  CUdeviceptr word_ = 0;
};

}  // namespace shunt::fuzz
