// cvta, isspacep and mapa: addresses of state spaces as generic ones, and back. The windows are
// those of machine/block.h; .global and .const are at their own addresses.
#include "cuda/instructions/apply.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/moves.h"
#include "cuda/machine/block.h"
#include "cuda/program/builder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

/// A state space as a modifier, and since when cvta and isspacep have it.
struct SpaceName {
  std::string_view name;
  ptx::Space space;
  std::uint64_t window;
  ptx::Version version;
  int sm;
};
constexpr SpaceName kSpaceNames[] = {
    {"global", ptx::Space::kGlobal, 0, {2, 0}, 20},
    {"const", ptx::Space::kConst, 0, {3, 1}, 20},
    {"shared", ptx::Space::kShared, kSharedWindow, {2, 0}, 20},
    {"shared::cta", ptx::Space::kShared, kSharedWindow, {7, 8}, 30},
    {"shared::cluster", ptx::Space::kShared, kSharedWindow, {7, 8}, 90},
    {"local", ptx::Space::kLocal, kLocalWindow, {2, 0}, 20},
    {"param", ptx::Space::kParam, kParamWindow, {7, 7}, 70},
    {"param::entry", ptx::Space::kParam, kParamWindow, {8, 3}, 70},
};

/// The next modifier; null, and the error set, if it is no space.
const SpaceName* take_space_name(Binder& binder) {
  for (const SpaceName& row : kSpaceNames) {
    if (binder.take(row.name)) return binder.need(row.version, row.sm) ? &row : nullptr;
  }
  binder.fail("needs a state space");
  return nullptr;
}

/// .param names parameters of kernels here, which a function of the module does not have.
bool is_in(Binder& binder, const ptx::Operand& operand, const SpaceName& space) {
  if (operand.kind != ptx::Operand::Kind::kName) return true;
  const Builder& builder = binder.builder();
  const Place* place = builder.layout().find(builder.function_number(), operand.name);
  if (place == nullptr || place->space == space.space) return true;
  return binder.fail(ptx::shown(operand.name) + " is not in ." + std::string(space.name));
}

/// Adds Op::immediate.
Next run_cvta(Warp& warp, const Op& op, LaneMask active) {
  const std::uint64_t* from = lanes_of<std::uint64_t>(warp, op.args[1]);
  const auto window = static_cast<std::uint64_t>(op.immediate);
  each_lane(lanes_of<std::uint64_t>(warp, op.args[0]), active,
            [=](unsigned i) { return from[i] + window; });
  return Next::kOn;
}

bool is_constant(const Warp& warp, std::uint64_t address) {
  const ExtentPtr extent = warp.block->launch->space->find(address);
  return extent != nullptr && extent->is_constant();
}

/// Kernel parameters are a part of the global window.
bool is_in_window(const Warp& warp, std::uint64_t address, ptx::Space space) {
  const auto within = [address](std::uint64_t window) {
    return address >= window && address - window < kWindowBytes;
  };
  switch (space) {
    case ptx::Space::kShared:
      return within(kSharedWindow);
    case ptx::Space::kLocal:
      return within(kLocalWindow);
    case ptx::Space::kParam:
      return within(kParamWindow);
    case ptx::Space::kConst:
      return is_constant(warp, address);
    default:
      return !within(kSharedWindow) && !within(kLocalWindow) && !is_constant(warp, address);
  }
}

template <class Address>
Next run_isspacep(Warp& warp, const Op& op, LaneMask active) {
  const Address* addresses = lanes_of<Address>(warp, op.args[1]);
  const auto space = static_cast<ptx::Space>(op.extra);
  LaneMask inside = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    const bool asked = (active >> i & 1u) != 0;
    if (asked && is_in_window(warp, addresses[i], space)) inside |= LaneMask{1} << i;
  }
  set_predicate(warp, op.args[0], inside, active);
  return Next::kOn;
}

/// The place of a block in its cluster.
std::uint32_t rank_in_cluster(const Block& block) {
  const Dim3& size = block.launch->cluster;
  const auto part = [](std::uint32_t index, std::uint32_t extent) {
    return extent == 0 ? 0 : index % extent;
  };
  const std::uint32_t row = part(block.index.y, size.y) + size.y * part(block.index.z, size.z);
  return part(block.index.x, size.x) + size.x * row;
}

/// An address of the block's own shared memory stays as it is; that of another block's cannot be
/// formed.
template <class Address>
Next run_mapa(Warp& warp, const Op& op, LaneMask active) {
  const Address* from = lanes_of<Address>(warp, op.args[1]);
  const std::uint32_t* ranks = lanes_of<std::uint32_t>(warp, op.args[2]);
  const std::uint32_t own = rank_in_cluster(*warp.block);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1u) == 0 || ranks[i] == own) continue;
    return fault(warp, 715, i,
                 "mapa to rank " + std::to_string(ranks[i]) +
                     " of the cluster: shared memory of other blocks is not reached");
  }
  each_lane(lanes_of<Address>(warp, op.args[0]), active, [=](unsigned i) { return from[i]; });
  return Next::kOn;
}

}  // namespace

bool bind_cvta(Binder& binder) {
  const bool to_space = binder.take_first("to");
  const SpaceName* space = take_space_name(binder);
  if (space == nullptr || binder.take_type({kU64}) == kNone) return false;
  if (!binder.expect_operands(2, 2)) return false;
  const bool variable = binder.operand(1).kind == ptx::Operand::Kind::kName;
  if (to_space && variable) return binder.fail("converts a generic address in a register");
  if (!is_in(binder, binder.operand(1), *space)) return false;
  const Arg to = binder.destination(0, kU64);
  const Arg from = binder.source(1, kU64);
  if (binder.failed()) return false;
  const std::uint64_t window = to_space ? 0 - space->window : space->window;
  binder.emit(run_cvta, OpKind::kMove, {to, from}).immediate = static_cast<std::int64_t>(window);
  return binder.finish();
}

bool bind_isspacep(Binder& binder) {
  const SpaceName* space = take_space_name(binder);
  if (space == nullptr || !binder.expect_operands(2, 2)) return false;
  const bool narrow = binder.register_bits(binder.operand(1)) == 32;
  const Arg to = binder.predicate_destination(0, false);
  const Arg from = binder.source(1, narrow ? kU32 : kU64);
  if (binder.failed()) return false;
  binder
      .emit(narrow ? run_isspacep<std::uint32_t> : run_isspacep<std::uint64_t>, OpKind::kMove,
            {to, from})
      .extra = static_cast<std::uint32_t>(space->space);
  return binder.finish();
}

bool bind_mapa(Binder& binder) {
  binder.take("shared::cluster");
  const ptx::Type type = binder.take_type({kU32, kU64});
  return emit_form(binder, type == kU64 ? run_mapa<std::uint64_t> : run_mapa<std::uint32_t>,
                   OpKind::kMove, type, {type, kU32});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
