// ld, ldu and st, and the table of the family.
#include <vector>

#include "cuda/instructions/memory_forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

using PtxSpace = ptx::Space;
using ptx::Type;

/// A statement as far as it is read.
struct Access {
  MemoryExtra extra;
  CacheHints hints;
  bool is_store = false;
  bool is_weak = false;  ///< and it says so
  bool is_volatile = false;
  bool is_mmio = false;
  bool is_cached = false;  ///< .nc
};

/// .weak, .volatile, .relaxed.SCOPE, .acquire.SCOPE (loads), .release.SCOPE (stores),
/// .mmio.relaxed.sys.
bool take_semantics(Binder& binder, Access& access) {
  MemoryExtra& extra = access.extra;
  const bool store = access.is_store;
  access.is_weak = binder.take("weak");
  if (access.is_weak) return binder.need({6, 0});
  access.is_volatile = binder.take("volatile");
  if (access.is_volatile) {
    extra.strong = true;
    return true;
  }
  const bool mmio = access.is_mmio = binder.take("mmio");
  if (mmio && !binder.need({8, 2}, 70)) return false;
  const std::string_view ordered = store ? "release" : "acquire";
  const bool relaxed = binder.take("relaxed");
  if (!relaxed && (mmio || !binder.take(ordered))) {
    return !mmio || binder.fail(".mmio needs .relaxed.sys");
  }
  extra.strong = true;
  extra.acquire = !relaxed && !store;
  extra.release = !relaxed && store;
  if (mmio) return binder.take("sys") || binder.fail(".mmio needs .relaxed.sys");
  return binder.need({6, 0}, 70) && take_scope(binder, true);
}

bool take_cache_operation(Binder& binder, Access& access) {
  const auto cache = access.is_store ? binder.take_one_of({"wb", "cg", "cs", "wt"})
                                     : binder.take_one_of({"ca", "cg", "cs", "lu", "cv"});
  access.hints.operation = cache.has_value();
  access.is_cached = !access.is_store && binder.take("nc");
  if (!access.is_cached) return true;
  if (access.extra.space != PtxSpace::kGlobal) return binder.fail(".nc is for .global");
  if (access.extra.strong || access.is_weak) return binder.fail(".nc excludes other semantics");
  if (cache && *cache > 2) return binder.fail(".nc has .ca, .cg and .cs");
  return binder.need({3, 1}, 32);
}

bool check_semantics(Binder& binder, const Access& access) {
  if (!access.extra.strong) return true;
  const PtxSpace space = access.extra.space;
  const bool reaches = space == PtxSpace::kGlobal || space == PtxSpace::kGeneric ||
                       (space == PtxSpace::kShared && !access.is_mmio);
  if (!reaches) {
    return binder.fail(access.is_mmio ? ".mmio is for .global and generic addresses"
                                      : "only weak accesses reach this state space");
  }
  if (access.is_mmio && access.extra.vector > 1) return binder.fail(".mmio has no vectors");
  const CacheHints& hints = access.hints;
  if (hints.operation) return binder.fail("cache operations are for weak accesses");
  const bool plain = access.is_volatile || access.is_mmio;
  const bool hinted = hints.priority || hints.policy || (hints.prefetch && access.is_mmio);
  return !plain || !hinted || binder.fail(".volatile and .mmio have no cache hints");
}

bool take_vector(Binder& binder, MemoryExtra& extra) {
  if (binder.take("v3")) return binder.fail("a vector has 2, 4 or 8 elements");
  const auto vector = binder.take_one_of({"v2", "v4", "v8"});
  extra.vector = vector ? 2u << *vector : 1;
  return true;
}

/// Everything but the type.
bool take_access(Binder& binder, Access& access) {
  if (!take_semantics(binder, access)) return false;
  const auto space = take_space(binder);
  if (!space) return false;
  access.extra.space = *space;
  return take_vector(binder, access.extra) && take_cache_operation(binder, access) &&
         take_cache_priorities(binder, access.hints) && take_cache_policy(binder, access.hints) &&
         (access.is_store || take_prefetch_size(binder, access.hints)) &&
         check_cache_hints(binder, access.hints, *space) && check_semantics(binder, access);
}

/// 256 bits are .v8 of 32 bits or .v4 of 64, in global memory.
bool check_size(Binder& binder, const MemoryExtra& extra, const CacheHints& hints) {
  const unsigned bytes = extra.bytes * extra.vector;
  if (hints.level2 && bytes != 32) {
    return binder.fail("a priority of the L2 cache is for .v8 of 32 bits and .v4 of 64");
  }
  if (bytes <= 16 && extra.vector < 8) return true;
  if (bytes != 32 || extra.vector < 4) {
    return binder.fail("a vector has at most 128 bits, or 256 as .v8 of 32 bits or .v4 of 64");
  }
  const bool global = extra.space == PtxSpace::kGlobal || extra.space == PtxSpace::kGeneric;
  if (!global) return binder.fail("vectors of 256 bits are for .global and generic addresses");
  return binder.need({8, 8}, 100);
}

Type take_memory_type(Binder& binder, MemoryExtra& extra, const CacheHints& hints = {}) {
  const Type type = binder.take_type({Type::kB8, Type::kB16, Type::kB32, Type::kB64, Type::kB128,
                                      Type::kU8, Type::kU16, Type::kU32, Type::kU64, Type::kS8,
                                      Type::kS16, Type::kS32, Type::kS64, Type::kF32, Type::kF64});
  if (type == Type::kNone) return type;
  extra.bytes = ptx::bits_of(type) / 8;
  if (type == Type::kB128 && !binder.need({8, 3}, 70)) return Type::kNone;
  return check_size(binder, extra, hints) ? type : Type::kNone;
}

bool take_policy(Binder& binder, std::size_t index, bool policy) {
  if (!binder.expect_operands(index, index + (policy ? 1 : 0))) return false;
  if (!policy) return true;
  if (binder.operands() != index + 1) return binder.fail(".L2::cache_hint needs a cache policy");
  binder.source(index, Type::kB64);
  return !binder.failed();
}

/// Registers of a vector have one width.
bool same_width(Binder& binder, std::span<const ptx::Operand> items, unsigned& bits) {
  bits = 0;
  for (const ptx::Operand& item : items) {
    if (item.is_sink()) continue;
    const unsigned own = binder.register_bits(item);
    if (own == 0) continue;  // a constant
    if (bits != 0 && own != bits) return binder.fail("the registers of a vector differ in width");
    bits = own;
  }
  return true;
}

bool emit_load(Binder& binder, Type type, MemoryExtra extra, bool policy) {
  const auto items = binder.vector(0, extra.vector);
  unsigned bits = 0;
  if (!items || !same_width(binder, *items, bits)) return false;
  // The address first: a destination may be its base.
  const auto address = take_address(binder, 1, extra);
  if (!address || !take_policy(binder, 2, policy)) return false;
  std::vector<Arg> to;
  for (const ptx::Operand& item : *items) {
    to.push_back(binder.destination(item, type, true, extra.vector > 1));
  }
  if (binder.failed()) return false;
  const Handler handler =
      load_handler(type, bits == 0 ? ptx::bits_of(type) : bits, extra.vector, extra.strong);
  Op& op = binder.emit(handler, OpKind::kMemory, {to[0], address->base});
  if (extra.vector > 1) binder.more(op, to);
  op.immediate = address->offset;
  op.extra = extra.packed();
  return binder.finish();
}

/// The variable has a copy that all devices share: here each address is that of one place.
bool take_unified(Binder& binder, const Access& access) {
  if (!binder.take(ptx::kUnified)) return true;
  if (access.extra.strong || access.is_cached) return binder.fail(".unified is for weak loads");
  return binder.need({8, 0}, 90);
}

bool bind_load(Binder& binder) {
  Access access;
  if (!take_access(binder, access) || !take_unified(binder, access)) return false;
  const Type type = take_memory_type(binder, access.extra, access.hints);
  if (type == Type::kNone || !binder.expect_operands(2, 3)) return false;
  return emit_load(binder, type, access.extra, access.hints.policy);
}

bool bind_uniform_load(Binder& binder) {
  MemoryExtra extra;
  if (binder.take("global")) extra.space = PtxSpace::kGlobal;
  if (!take_vector(binder, extra)) return false;
  const Type type = take_memory_type(binder, extra);
  if (type == Type::kNone || !binder.expect_operands(2, 2)) return false;
  if (extra.bytes * extra.vector > 16) return binder.fail("a vector has at most 128 bits");
  return emit_load(binder, type, extra, false);
}

bool emit_store(Binder& binder, Type type, MemoryExtra extra, bool policy) {
  const auto items = binder.vector(1, extra.vector);
  const auto address = take_address(binder, 0, extra);
  unsigned bits = 0;
  if (!items || !same_width(binder, *items, bits)) return false;
  if (!address || !take_policy(binder, 2, policy)) return false;
  if (extra.space == PtxSpace::kParam) return binder.fail("a kernel's parameters are read-only");
  if (extra.space == PtxSpace::kConst) return binder.fail("constants are read-only");
  std::vector<Arg> from;
  unsigned bytes = 0;
  for (const ptx::Operand& item : *items) {
    from.push_back(binder.source(item, type, true));
    if (binder.failed()) return false;
    if (bytes != 0 && from.back().bytes != bytes) {
      return binder.fail("the registers of a vector differ in width");
    }
    bytes = from.back().bytes;
  }
  Op& op = binder.emit(store_handler(type, bytes, extra.vector, extra.strong), OpKind::kMemory,
                       {from[0], address->base});
  if (extra.vector > 1) binder.more(op, from);
  op.immediate = address->offset;
  op.extra = extra.packed();
  return binder.finish();
}

bool bind_store(Binder& binder) {
  Access access;
  access.is_store = true;
  if (!take_access(binder, access)) return false;
  const Type type = take_memory_type(binder, access.extra, access.hints);
  if (type == Type::kNone || !binder.expect_operands(2, 3)) return false;
  return emit_store(binder, type, access.extra, access.hints.policy);
}

constexpr Opcode kMemoryOpcodes[] = {
    {"ld", {1, 0}, 0, bind_load},
    {"ldu", {2, 0}, 0, bind_uniform_load},
    {"st", {1, 0}, 0, bind_store},
    {"cp", {7, 0}, 80, bind_cp},
    {"prefetch", {2, 0}, 20, bind_prefetch},
    {"prefetchu", {2, 0}, 20, bind_prefetchu},
    {"createpolicy", {7, 4}, 80, bind_createpolicy},
    {"discard", {7, 4}, 80, bind_discard},
    {"applypriority", {7, 4}, 80, bind_applypriority},
};

}  // namespace

std::span<const Opcode> memory_opcodes() {
  return kMemoryOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
