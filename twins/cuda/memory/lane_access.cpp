#include "cuda/memory/access.h"

#include <cstdio>

#include "cuda/memory/hex.h"
#include "cuda/races/check.h"

namespace cuda_twin {

namespace {

using PtxSpace = ptx::Space;

std::string access_text(AccessFlags access, unsigned bytes) {
  return std::string(name_of_access(access)) + " of " + std::to_string(bytes) +
         (bytes == 1 ? " byte" : " bytes");
}

bool out_of_bounds(Warp& warp, unsigned lane, AccessFlags access, unsigned bytes,
                   std::string where) {
  fault(warp, 700, lane, "out-of-bounds " + access_text(access, bytes) + ": " + std::move(where));
  return false;
}

/// Bytes [address, address + bytes) of a space with `limit` bytes.
bool inside(std::uint64_t address, unsigned bytes, std::uint64_t limit) {
  return address <= limit && bytes <= limit - address;
}

/// The reason that there is no extent for the access.
std::string why_not(const Launch& launch, std::uint64_t address, unsigned bytes) {
  const ExtentPtr found = launch.space->find(address);
  if (found == nullptr || bytes > found->end() - address) {
    return launch.space->describe(address, bytes);
  }
  return Space::place(*found, address) + ", is not accessible to device " +
         std::to_string(launch.device);
}

bool locate_global(Warp& warp, unsigned lane, std::uint64_t address, unsigned bytes,
                   AccessFlags access, bool constant, Spot& spot) {
  const Extent* const extent = extent_of(warp, address, bytes);
  const Launch& launch = *warp.block->launch;
  if (extent == nullptr) {
    return out_of_bounds(warp, lane, access, bytes, why_not(launch, address, bytes));
  }
  if ((access & kWrite) != 0 && extent->read_only) {
    return out_of_bounds(warp, lane, access, bytes,
                         Space::place(*extent, address) + ", is read-only");
  }
  if (constant && !extent->is_constant()) {
    return out_of_bounds(warp, lane, access, bytes,
                         Space::place(*extent, address) + ", is not in .const");
  }
  spot.extent = extent;
  spot.data = extent->data + (address - extent->begin);
  spot.written = extent->written;
  spot.first_bit = address - extent->begin;
  return true;
}

bool locate_shared(Warp& warp, unsigned lane, std::uint64_t address, unsigned bytes,
                   AccessFlags access, Spot& spot) {
  Block& block = *warp.block;
  if (!inside(address, bytes, block.shared.size())) {
    return out_of_bounds(warp, lane, access, bytes,
                         "shared address " + in_hex(address) + ", and the block has " +
                             std::to_string(block.shared.size()) + " bytes");
  }
  spot.data = block.shared.data() + address;
  spot.written = block.shared_written.empty() ? nullptr : block.shared_written.data();
  spot.first_bit = address;
  return true;
}

bool locate_local(Warp& warp, unsigned lane, std::uint64_t address, unsigned bytes,
                  AccessFlags access, Spot& spot) {
  Block& block = *warp.block;
  // Frames of callers are below the running one; above it is what further calls will use.
  const Frame& frame = warp.frames[warp.groups[0].frame];
  const std::uint64_t limit = frame.local_base + frame.function->local_bytes;
  if (!inside(address, bytes, limit)) {
    return out_of_bounds(warp, lane, access, bytes,
                         "local address " + in_hex(address) + ", and a thread has " +
                             std::to_string(limit) + " bytes");
  }
  const std::uint64_t at =
      (std::uint64_t{warp.index} * kLanes + lane) * block.local_stride + address;
  spot.data = block.local.data() + at;
  spot.written = block.local_written.empty() ? nullptr : block.local_written.data();
  spot.first_bit = at;
  return true;
}

bool locate_parameter(Warp& warp, unsigned lane, std::uint64_t address, unsigned bytes,
                      AccessFlags access, Spot& spot) {
  const auto& parameters = warp.block->launch->parameters;
  if ((access & kWrite) != 0) {
    return out_of_bounds(warp, lane, access, bytes, "a kernel's parameters are read-only");
  }
  if (!inside(address, bytes, parameters.size())) {
    return out_of_bounds(warp, lane, access, bytes,
                         "parameter address " + in_hex(address) + ", and the launch has " +
                             std::to_string(parameters.size()) + " bytes of parameters");
  }
  spot.data = const_cast<std::byte*>(parameters.data()) + address;  // never written
  spot.first_bit = address;
  return true;
}

/// Mapped memory and that of pools is for the devices that were given access, other memory for its
/// device and peers, and host memory for all.
bool may_use(const Launch& launch, const Extent& extent) {
  switch (extent.kind) {
    case MemoryKind::kPinned:
    case MemoryKind::kRegistered:
    case MemoryKind::kManaged:
      return true;
    case MemoryKind::kMapped:
      return (extent.granted >> (launch.device & 31) & 1) != 0;
    default:
      return (launch.devices >> (extent.device & 31) & 1) != 0;
  }
}

bool any_written(const Spot& spot, std::uint64_t first, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (all_written(spot.written, spot.first_bit + first + i, 1)) return true;
  }
  return false;
}

/// As first_unwritten(), for elements in local memory.
std::uint64_t first_unwritten_element(const Spot& spot, unsigned bytes, unsigned element) {
  std::uint64_t at = first_unwritten(spot.written, spot.first_bit, bytes);
  while (at < bytes) {
    const std::uint64_t first = at - at % element;
    if (!any_written(spot, first, element)) return first;
    const std::uint64_t next = first + element;
    at = next + first_unwritten(spot.written, spot.first_bit + next, bytes - next);
  }
  return bytes;
}

bool check_written(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes, unsigned element) {
  const Launch& launch = *warp.block->launch;
  if (!launch.checks.initialised || spot.space == PtxSpace::kParam) return true;
  std::uint64_t unwritten = bytes;
  if (spot.space == PtxSpace::kLocal) {
    unwritten = first_unwritten_element(spot, bytes, element);
  } else {
    unwritten = first_unwritten(spot.written, spot.first_bit, bytes);
  }
  if (unwritten == bytes) return true;
  Spot byte = spot;
  byte.address += unwritten;
  return report(warp, "uninitialised read", lane,
                "byte " + std::to_string(unwritten) + " of a read of " + std::to_string(bytes) +
                    " was never written: " + name_of_spot(byte)) == Next::kOn;
}

}  // namespace

const Extent* extent_of(Warp& warp, std::uint64_t address, std::uint64_t bytes) {
  ExtentCache& cache = warp.block->extents;
  const Launch& launch = *warp.block->launch;
  const std::uint64_t generation = launch.space->generation();
  if (cache.generation != generation) {
    for (auto& entry : cache.entries) entry = {};
    cache.generation = generation;
  }
  const auto holds = [&](const ExtentCache::Entry& entry) {
    return address >= entry.begin && address < entry.end && bytes <= entry.end - address;
  };
  // Mostly an op accesses one extent, and a few extents are all.
  auto& own = cache.entries[warp.op % std::size(cache.entries)];
  if (holds(own)) return own.extent.get();
  for (const auto& entry : cache.entries) {
    if (holds(entry)) return entry.extent.get();
  }
  ExtentPtr found = launch.space->find(address);
  if (found == nullptr || bytes > found->end() - address) return nullptr;
  if (!may_use(launch, *found)) return nullptr;
  own.begin = found->begin;
  own.end = found->end();
  own.extent = std::move(found);
  return own.extent.get();
}

ptx::Space space_of_generic(std::uint64_t& address) {
  static constexpr struct {
    std::uint64_t window;
    PtxSpace space;
  } kWindows[] = {{kSharedWindow, PtxSpace::kShared},
                  {kLocalWindow, PtxSpace::kLocal},
                  {kParamWindow, PtxSpace::kParam}};
  if (address < kSharedWindow) return PtxSpace::kGlobal;
  for (const auto& row : kWindows) {
    if (address - row.window < kWindowBytes) {
      address -= row.window;
      return row.space;
    }
  }
  return PtxSpace::kGlobal;
}

bool locate(Warp& warp, unsigned lane, ptx::Space space, std::uint64_t address, unsigned bytes,
            AccessFlags access, Spot& spot) {
  if (space == PtxSpace::kGeneric) space = space_of_generic(address);
  const bool constant = space == PtxSpace::kConst;
  if (constant) space = PtxSpace::kGlobal;
  spot = Spot{};
  spot.space = space;
  spot.address = address;
  if ((bytes & (bytes - 1)) == 0 && (address & (bytes - 1)) != 0) {
    fault(warp, 716, lane,
          "misaligned " + access_text(access, bytes) + " at " + std::string(ptx::name_of(space)) +
              " address " + in_hex(address));
    return false;
  }
  switch (space) {
    case PtxSpace::kShared:
      return locate_shared(warp, lane, address, bytes, access, spot);
    case PtxSpace::kLocal:
      return locate_local(warp, lane, address, bytes, access, spot);
    case PtxSpace::kParam:
      return locate_parameter(warp, lane, address, bytes, access, spot);
    default:
      return locate_global(warp, lane, address, bytes, access, constant, spot);
  }
}

bool locate_and_check(Warp& warp, unsigned lane, ptx::Space space, std::uint64_t address,
                      unsigned bytes, unsigned element, AccessFlags access, Spot& spot) {
  if (!locate(warp, lane, space, address, bytes, access, spot)) return false;
  if ((access & kRead) != 0 && !check_written(warp, lane, spot, bytes, element)) return false;
  if (!races::check(warp, lane, spot, bytes, access)) return false;
  if ((access & kWrite) != 0) set_written(spot.written, spot.first_bit, bytes);
  return true;
}

std::unique_lock<std::mutex> lock_wide(bool strong) {
  static std::mutex mutex;
  return strong ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

std::string name_of_spot(const Spot& spot) {
  if (spot.extent != nullptr) return Space::place(*spot.extent, spot.address);
  return std::string(ptx::name_of(spot.space)) + " address " + in_hex(spot.address);
}

const char* name_of_access(AccessFlags access) {
  if ((access & (kRead | kWrite)) == (kRead | kWrite)) return "atomic access";
  return (access & kWrite) != 0 ? "write" : "read";
}

}  // namespace cuda_twin
