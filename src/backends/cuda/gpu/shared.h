// Types of the arguments of launches. The host and the kernels include this header.
#pragma once

namespace shunt::cuda::gpu {

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using i16 = short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

/// An address in the device's memory. The host can't follow it.
#ifdef __CUDA__
template <class T>
using Pointer = T*;
#else
template <class T>
struct Pointer {
  u64 address = 0;
};
#endif

/// Elements of a block format that kernels decode at once.
inline constexpr int kGroup = 8;

inline constexpr int kDims = 4;
inline constexpr int kDynamicDims = 16;

/// The first fault that a kernel of a stream found. In pinned host memory.
struct FaultRecord {
  u32 code;  ///< FaultCode
  u32 node;
  i64 value;
  i64 bound;
  u64 task;
};

enum FaultCode : u32 {
  kNoFault = 0,
  kIndexOutOfRange = 1,  ///< `value` is not at least 0 and below `bound`
  kTooSmall = 2,         ///< `value` is below `bound`
};

/// Of one run. In device memory; the first kernel of a run writes it.
struct Run {
  i64 dims[kDynamicDims];  ///< actual values of dynamic dimensions
  u64 task;
  Pointer<u32> stop;  ///< of the stream: not 0 once a kernel has found a fault
  Pointer<FaultRecord> record;
  u32 stopped;  ///< kernels return at once
  u32 padding;
};

/// A dimension: a fixed size, or `factor` times a dynamic dimension.
struct Size {
  i64 fixed;
  i64 factor;  ///< 0: fixed
  i64 dim;
};

struct TensorArg {
  Pointer<u8> data;
  Size sizes[kDims];
  i64 strides[kDims];  ///< bytes
};

/// Numbers of rows or experts.
struct IdsArg {
  TensorArg tensor;
  u64 wide;  ///< I64, else I32
};

/// The first member of the parameters of all kernels but begin_run.
struct Common {
  Pointer<Run> run;
  u64 node;
};

}  // namespace shunt::cuda::gpu
