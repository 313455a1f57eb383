#include "cuda/profiles.h"

#include <algorithm>
#include <iterator>

namespace cuda_twin {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr int kKiB = 1024;
constexpr int kMiB = 1024 * 1024;

}  // namespace

// From the vendor's tables of compute capabilities and its data sheets.
const Profile kProfileTable[kProfiles] = {
    {.name = "p40",
     .device_name = "Tesla P40",
     .major = 6,
     .minor = 1,
     .multiprocessors = 30,
     .memory_bytes = 24 * kGiB,
     .clock_khz = 1531000,
     .memory_clock_khz = 3615000,
     .bus_bits = 384,
     .l2_bytes = 3 * kMiB,
     .shared_block = 48 * kKiB,
     .shared_optin = 48 * kKiB,
     .shared_sm = 96 * kKiB,
     .threads_sm = 2048,
     .blocks_sm = 32,
     .copy_engines = 2,
     .integrated = false,
     .ecc = true},
    {.name = "t4",
     .device_name = "Tesla T4",
     .major = 7,
     .minor = 5,
     .multiprocessors = 40,
     .memory_bytes = 16 * kGiB,
     .clock_khz = 1590000,
     .memory_clock_khz = 5001000,
     .bus_bits = 256,
     .l2_bytes = 4 * kMiB,
     .shared_block = 48 * kKiB,
     .shared_optin = 64 * kKiB,
     .shared_sm = 64 * kKiB,
     .threads_sm = 1024,
     .blocks_sm = 16,
     .copy_engines = 3,
     .integrated = false,
     .ecc = true},
    {.name = "a100",
     .device_name = "NVIDIA A100-SXM4-40GB",
     .major = 8,
     .minor = 0,
     .multiprocessors = 108,
     .memory_bytes = 40 * kGiB,
     .clock_khz = 1410000,
     .memory_clock_khz = 1215000,
     .bus_bits = 5120,
     .l2_bytes = 40 * kMiB,
     .shared_block = 48 * kKiB,
     .shared_optin = 163 * kKiB,
     .shared_sm = 164 * kKiB,
     .threads_sm = 2048,
     .blocks_sm = 32,
     .copy_engines = 3,
     .integrated = false,
     .ecc = true},
    {.name = "rtx4090",
     .device_name = "NVIDIA GeForce RTX 4090",
     .major = 8,
     .minor = 9,
     .multiprocessors = 128,
     .memory_bytes = 24 * kGiB,
     .clock_khz = 2520000,
     .memory_clock_khz = 10501000,
     .bus_bits = 384,
     .l2_bytes = 72 * kMiB,
     .shared_block = 48 * kKiB,
     .shared_optin = 99 * kKiB,
     .shared_sm = 100 * kKiB,
     .threads_sm = 1536,
     .blocks_sm = 24,
     .copy_engines = 2,
     .integrated = false,
     .ecc = false},
    {.name = "orin",
     .device_name = "Orin",
     .major = 8,
     .minor = 7,
     .multiprocessors = 16,
     .memory_bytes = 61 * kGiB,
     .clock_khz = 1300000,
     .memory_clock_khz = 3199000,
     .bus_bits = 256,
     .l2_bytes = 4 * kMiB,
     .shared_block = 48 * kKiB,
     .shared_optin = 163 * kKiB,
     .shared_sm = 164 * kKiB,
     .threads_sm = 1536,
     .blocks_sm = 16,
     .copy_engines = 2,
     .integrated = true,
     .ecc = false},
    {.name = "h200",
     .device_name = "NVIDIA H200",
     .major = 9,
     .minor = 0,
     .multiprocessors = 132,
     .memory_bytes = 140 * kGiB,
     .clock_khz = 1980000,
     .memory_clock_khz = 3201000,
     .bus_bits = 6144,
     .l2_bytes = 60 * kMiB,
     .shared_block = 48 * kKiB,
     .shared_optin = 227 * kKiB,
     .shared_sm = 228 * kKiB,
     .threads_sm = 2048,
     .blocks_sm = 32,
     .copy_engines = 3,
     .integrated = false,
     .ecc = true},
    {.name = "b200",
     .device_name = "NVIDIA B200",
     .major = 10,
     .minor = 0,
     .multiprocessors = 148,
     .memory_bytes = 179 * kGiB,
     .clock_khz = 1965000,
     .memory_clock_khz = 3996000,
     .bus_bits = 8192,
     .l2_bytes = 126 * kMiB,
     .shared_block = 48 * kKiB,
     .shared_optin = 227 * kKiB,
     .shared_sm = 228 * kKiB,
     .threads_sm = 2048,
     .blocks_sm = 32,
     .copy_engines = 4,
     .integrated = false,
     .ecc = true},
};

namespace {

struct Fixed {
  int attribute;
  int value;
};
// The same for all profiles.
constexpr Fixed kFixed[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
};

struct Computed {
  int attribute;
  int (*value)(const Profile& profile);
};
constexpr Computed kComputed[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
     [](const Profile& p) { return p.shared_block; }},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     [](const Profile& p) { return p.shared_optin; }},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
     [](const Profile& p) { return p.shared_sm; }},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
     [](const Profile& p) { return p.major >= 8 ? kKiB : 0; }},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, [](const Profile& p) { return p.clock_khz; }},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, [](const Profile& p) { return p.memory_clock_khz; }},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, [](const Profile& p) { return p.bus_bits; }},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, [](const Profile& p) { return p.l2_bytes; }},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, [](const Profile& p) { return p.multiprocessors; }},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
     [](const Profile& p) { return p.threads_sm; }},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
     [](const Profile& p) { return p.blocks_sm; }},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, [](const Profile& p) { return p.copy_engines; }},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, [](const Profile& p) { return p.major; }},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, [](const Profile& p) { return p.minor; }},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, [](const Profile& p) { return p.integrated ? 1 : 0; }},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, [](const Profile& p) { return p.ecc ? 1 : 0; }},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
     [](const Profile& p) { return p.integrated ? 0 : 1; }},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, [](const Profile& p) { return p.major >= 9 ? 1 : 0; }},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED,
     [](const Profile& p) { return p.major >= 9 ? 1 : 0; }},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS,
     [](const Profile& p) { return p.major >= 9 ? 1 : 0; }},
    {CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT,
     [](const Profile& p) { return p.major >= 9 ? 4 : 1; }},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO,
     [](const Profile& p) { return p.minor == 0 ? 2 : 32; }},
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
     [](const Profile& p) { return p.major >= 8 ? p.l2_bytes / 4 * 3 : 0; }},
    {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE,
     [](const Profile& p) { return p.major >= 8 ? 128 * kMiB : 0; }},
};

}  // namespace

std::optional<int> attribute_of(const Profile& profile, int attribute) {
  if (attribute < int{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK} ||
      attribute > int{CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED}) {
    return std::nullopt;
  }
  const auto fixed =
      std::find_if(std::begin(kFixed), std::end(kFixed),
                   [attribute](const Fixed& row) { return row.attribute == attribute; });
  if (fixed != std::end(kFixed)) return fixed->value;
  const auto computed =
      std::find_if(std::begin(kComputed), std::end(kComputed),
                   [attribute](const Computed& row) { return row.attribute == attribute; });
  return computed == std::end(kComputed) ? 0 : computed->value(profile);
}

}  // namespace cuda_twin
