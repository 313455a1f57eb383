#include "cuda/program/special.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "cuda/instructions/lanes.h"
#include "cuda/machine/block.h"
#include "cuda/machine/warp.h"

namespace cuda_twin {
namespace {

using Lane = unsigned;

template <class T, class Value>
Next write(Warp& warp, const Op& op, LaneMask active, Value value) {
  T* to = baseline::lanes_of<T>(warp, op.args[0]);
  for (Lane i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) != 0) to[i] = value(i);
  }
  return Next::kOn;
}

/// A handler from a function of warp and lane.
template <auto value>
Next read(Warp& warp, const Op& op, LaneMask active) {
  using T = decltype(value(warp, Lane{0}));
  return write<T>(warp, op, active, [&](Lane lane) { return value(warp, lane); });
}

const Launch& launch_of(const Warp& warp) {
  return *warp.block->launch;
}

std::uint32_t part(const Dim3& size, unsigned which) {
  return which == 0 ? size.x : which == 1 ? size.y : size.z;
}
/// A launch without clusters has clusters of one block.
std::uint32_t cluster(const Warp& warp, unsigned which) {
  return std::max(part(launch_of(warp).cluster, which), 1U);
}

template <unsigned which>
std::uint32_t tid(const Warp& warp, Lane lane) {
  return warp.tid[which][lane];
}
template <unsigned which>
std::uint32_t ntid(const Warp& warp, Lane) {
  return part(launch_of(warp).block, which);
}
template <unsigned which>
std::uint32_t ctaid(const Warp& warp, Lane) {
  return part(warp.block->index, which);
}
template <unsigned which>
std::uint32_t nctaid(const Warp& warp, Lane) {
  return part(launch_of(warp).grid, which);
}
template <unsigned which>
std::uint32_t clusterid(const Warp& warp, Lane) {
  return part(warp.block->index, which) / cluster(warp, which);
}
template <unsigned which>
std::uint32_t nclusterid(const Warp& warp, Lane) {
  return part(launch_of(warp).grid, which) / cluster(warp, which);
}
template <unsigned which>
std::uint32_t cluster_ctaid(const Warp& warp, Lane) {
  return part(warp.block->index, which) % cluster(warp, which);
}
template <unsigned which>
std::uint32_t cluster_nctaid(const Warp& warp, Lane) {
  return cluster(warp, which);
}
std::uint32_t cluster_ctarank(const Warp& warp, Lane lane) {
  const std::uint32_t x = cluster_ctaid<0>(warp, lane);
  const std::uint32_t y = cluster_ctaid<1>(warp, lane);
  const std::uint32_t z = cluster_ctaid<2>(warp, lane);
  return x + cluster(warp, 0) * (y + cluster(warp, 1) * z);
}
std::uint32_t cluster_nctarank(const Warp& warp, Lane) {
  return cluster(warp, 0) * cluster(warp, 1) * cluster(warp, 2);
}
bool explicit_cluster(const Warp& warp) {
  const Launch& launch = launch_of(warp);
  return launch.kernel->cluster[0] != 0 || launch.cluster.x * launch.cluster.y > 1 ||
         launch.cluster.z > 1;
}

std::uint32_t zero(const Warp&, Lane) {
  return 0;
}
std::uint64_t zero64(const Warp&, Lane) {
  return 0;
}
std::uint32_t laneid(const Warp&, Lane lane) {
  return lane;
}
std::uint32_t warpid(const Warp& warp, Lane) {
  return warp.index;
}
std::uint32_t nwarpid(const Warp&, Lane) {
  return 64;
}
std::uint32_t smid(const Warp& warp, Lane) {
  const std::uint64_t count = std::max(launch_of(warp).multiprocessors, 1U);
  return static_cast<std::uint32_t>(warp.block->linear_index % count);
}
std::uint32_t nsmid(const Warp& warp, Lane) {
  return std::max(launch_of(warp).multiprocessors, 1U);
}
std::uint64_t gridid(const Warp& warp, Lane) {
  return launch_of(warp).work;
}

std::uint32_t lanemask_eq(const Warp&, Lane lane) {
  return 1U << lane;
}
std::uint32_t lanemask_lt(const Warp&, Lane lane) {
  return (1U << lane) - 1;
}
std::uint32_t lanemask_le(const Warp&, Lane lane) {
  return (2U << lane) - 1;
}
std::uint32_t lanemask_gt(const Warp&, Lane lane) {
  return ~((2U << lane) - 1);
}
std::uint32_t lanemask_ge(const Warp&, Lane lane) {
  return ~((1U << lane) - 1);
}

/// A clock of instructions, so that runs can be repeated.
std::uint64_t clock64(const Warp& warp, Lane) {
  return warp.instructions;
}
std::uint32_t clock_lo(const Warp& warp, Lane) {
  return static_cast<std::uint32_t>(warp.instructions);
}
std::uint32_t clock_hi(const Warp& warp, Lane) {
  return static_cast<std::uint32_t>(warp.instructions >> 32);
}
std::uint64_t nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint64_t dynamic_base(const Warp& warp) {
  const KernelInfo& kernel = *launch_of(warp).kernel;
  const std::uint64_t alignment = std::max<std::uint64_t>(kernel.dynamic_alignment, 1);
  return (kernel.static_shared + alignment - 1) / alignment * alignment;
}
std::uint32_t dynamic_size(const Warp& warp, Lane) {
  return launch_of(warp).dynamic_shared;
}
std::uint32_t total_size(const Warp& warp, Lane) {
  const Launch& launch = launch_of(warp);
  const std::uint64_t before =
      launch.dynamic_shared == 0 ? launch.kernel->static_shared : dynamic_base(warp);
  return static_cast<std::uint32_t>(before + launch.dynamic_shared);
}

/// One value for all lanes of the warp.
template <unsigned shift>
Next read_timer(Warp& warp, const Op& op, LaneMask active) {
  const std::uint64_t now = nanoseconds();
  return write<std::uint32_t>(warp, op, active,
                              [&](Lane) { return static_cast<std::uint32_t>(now >> shift); });
}
Next read_timer64(Warp& warp, const Op& op, LaneMask active) {
  const std::uint64_t now = nanoseconds();
  return write<std::uint64_t>(warp, op, active, [&](Lane) { return now; });
}
Next read_explicit_cluster(Warp& warp, const Op& op, LaneMask active) {
  baseline::set_predicate(warp, op.args[0], explicit_cluster(warp) ? kAllLanes : 0, active);
  return Next::kOn;
}

using ptx::Type;

#define CUDA_TWIN_VECTOR(name, version, sm, legacy_bits)                       \
  {"%" #name ".x", Type::kU32, version, sm, read<name<0>>, legacy_bits},       \
      {"%" #name ".y", Type::kU32, version, sm, read<name<1>>, legacy_bits},   \
      {"%" #name ".z", Type::kU32, version, sm, read<name<2>>, legacy_bits}, { \
    "%" #name ".w", Type::kU32, version, sm, read<zero>, legacy_bits           \
  }

constexpr ptx::Version kOld{1, 0};
constexpr ptx::Version kCluster{7, 8};

const SpecialRegister kRegisters[] = {
    CUDA_TWIN_VECTOR(tid, kOld, 0, 16),
    CUDA_TWIN_VECTOR(ntid, kOld, 0, 16),
    CUDA_TWIN_VECTOR(ctaid, kOld, 0, 16),
    CUDA_TWIN_VECTOR(nctaid, kOld, 0, 16),
    CUDA_TWIN_VECTOR(clusterid, kCluster, 90, 0),
    CUDA_TWIN_VECTOR(nclusterid, kCluster, 90, 0),
    CUDA_TWIN_VECTOR(cluster_ctaid, kCluster, 90, 0),
    CUDA_TWIN_VECTOR(cluster_nctaid, kCluster, 90, 0),
    {"%cluster_ctarank", Type::kU32, kCluster, 90, read<cluster_ctarank>},
    {"%cluster_nctarank", Type::kU32, kCluster, 90, read<cluster_nctarank>},
    {"%is_explicit_cluster", Type::kPred, kCluster, 90, read_explicit_cluster},
    {"%laneid", Type::kU32, {1, 3}, 0, read<laneid>},
    {"%warpid", Type::kU32, {1, 3}, 0, read<warpid>},
    {"%nwarpid", Type::kU32, {2, 0}, 20, read<nwarpid>},
    {"%smid", Type::kU32, {1, 3}, 0, read<smid>},
    {"%nsmid", Type::kU32, {2, 0}, 20, read<nsmid>},
    {"%gridid", Type::kU64, kOld, 0, read<gridid>, 32},
    {"%lanemask_eq", Type::kU32, {2, 0}, 20, read<lanemask_eq>},
    {"%lanemask_le", Type::kU32, {2, 0}, 20, read<lanemask_le>},
    {"%lanemask_lt", Type::kU32, {2, 0}, 20, read<lanemask_lt>},
    {"%lanemask_ge", Type::kU32, {2, 0}, 20, read<lanemask_ge>},
    {"%lanemask_gt", Type::kU32, {2, 0}, 20, read<lanemask_gt>},
    {"%clock", Type::kU32, kOld, 0, read<clock_lo>},
    {"%clock_hi", Type::kU32, {5, 0}, 20, read<clock_hi>},
    {"%clock64", Type::kU64, {2, 0}, 20, read<clock64>},
    {"%globaltimer", Type::kU64, {3, 1}, 30, read_timer64},
    {"%globaltimer_lo", Type::kU32, {3, 1}, 30, read_timer<0>},
    {"%globaltimer_hi", Type::kU32, {3, 1}, 30, read_timer<32>},
    {"%dynamic_smem_size", Type::kU32, {4, 1}, 20, read<dynamic_size>},
    {"%total_smem_size", Type::kU32, {4, 1}, 20, read<total_size>},
    {"%aggr_smem_size", Type::kU32, {8, 1}, 90, read<total_size>},
    {"%current_graph_exec", Type::kU64, {8, 0}, 50, read<zero64>},
};

#undef CUDA_TWIN_VECTOR

/// %pm0 to %pm7, their 64-bit forms and %envreg0 to %envreg31 are 0.
const SpecialRegister* counter(std::string_view name) {
  static const std::array<SpecialRegister, 3> kCounters{{
      {"%pm", Type::kU32, {1, 3}, 0, read<zero>},
      {"%pm_64", Type::kU64, {4, 0}, 50, read<zero64>},
      {"%envreg", Type::kU32, {2, 1}, 0, read<zero>},
  }};
  const auto numbered = [](std::string_view digits, int most) {
    const bool good = !digits.empty() && digits.size() < 3 &&
                      digits.find_first_not_of("0123456789") == std::string_view::npos;
    return good && std::stoi(std::string(digits)) < most;
  };
  if (name.starts_with("%envreg")) return numbered(name.substr(7), 32) ? &kCounters[2] : nullptr;
  if (!name.starts_with("%pm")) return nullptr;
  std::string_view digits = name.substr(3);
  const bool wide = digits.ends_with("_64");
  if (wide) digits.remove_suffix(3);
  if (!numbered(digits, 8)) return nullptr;
  return wide ? &kCounters[1] : &kCounters[0];
}

}  // namespace

const SpecialRegister* special_register(std::string_view name) {
  for (const SpecialRegister& row : kRegisters) {
    if (row.name == name) return &row;
  }
  return counter(name);
}

Next read_local_base(Warp& warp, const Op& op, LaneMask active) {
  const std::uint64_t value = warp.local_base + static_cast<std::uint64_t>(op.immediate);
  return write<std::uint64_t>(warp, op, active, [&](Lane) { return value; });
}

Next read_dynamic_base(Warp& warp, const Op& op, LaneMask active) {
  const std::uint64_t value = dynamic_base(warp) + static_cast<std::uint64_t>(op.immediate);
  return write<std::uint64_t>(warp, op, active, [&](Lane) { return value; });
}

Next keep_low_bits(Warp& warp, const Op& op, LaneMask active) {
  const std::uint32_t mask = op.extra >= 32 ? ~0U : (1U << op.extra) - 1;
  const auto low = [&](const auto* from) {
    return write<std::uint32_t>(warp, op, active,
                                [&](Lane i) { return static_cast<std::uint32_t>(from[i]) & mask; });
  };
  return op.args[1].bytes == 8 ? low(baseline::lanes_of<const std::uint64_t>(warp, op.args[1]))
                               : low(baseline::lanes_of<const std::uint32_t>(warp, op.args[1]));
}

Next add_constant(Warp& warp, const Op& op, LaneMask active) {
  const auto add = [&]<class T>(T mask) {
    const T* from = baseline::lanes_of<const T>(warp, op.args[1]);
    const auto constant = static_cast<T>(op.immediate);
    return write<T>(warp, op, active, [&](Lane i) { return (from[i] + constant) & mask; });
  };
  if (op.args[1].bytes == 8) return add(~std::uint64_t{0});
  return add(op.extra >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << op.extra) - 1);
}

Next set_constant_predicate(Warp& warp, const Op& op, LaneMask active) {
  baseline::set_predicate(warp, op.args[0], op.immediate != 0 ? kAllLanes : 0, active);
  return Next::kOn;
}

}  // namespace cuda_twin
