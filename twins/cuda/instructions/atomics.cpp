// The grammar of atom and red.
#include "cuda/instructions/atomics.h"

#include <algorithm>
#include <vector>

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

using PtxSpace = ptx::Space;
using ptx::Type;

/// A statement as far as it is read.
struct Atomic {
  MemoryExtra extra;
  AtomicOp operation = AtomicOp::kAdd;
  Type type = Type::kNone;
  CacheHints hints;
  bool noftz = false;
  bool returns = true;
  bool is_sys = false;  ///< has the scope .sys
};

bool take_order(Binder& binder, Atomic& atomic) {
  atomic.extra.strong = true;
  const auto order = atomic.returns
                         ? binder.take_one_of({"relaxed", "release", "acquire", "acq_rel"})
                         : binder.take_one_of({"relaxed", "release"});
  if (order && !binder.need({6, 0}, 70)) return false;
  const std::size_t which = order.value_or(0);
  atomic.extra.release = which == 1 || which == 3;
  atomic.extra.acquire = which >= 2;
  const auto& modifiers = binder.instruction().modifiers;
  atomic.is_sys = std::find(modifiers.begin(), modifiers.end(), "sys") != modifiers.end();
  return take_scope(binder, false);
}

bool take_operation(Binder& binder, Atomic& atomic) {
  const auto operation =
      binder.take_one_of({"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"});
  if (!operation) return binder.fail("needs an operation: .add, .cas, ...");
  atomic.operation = static_cast<AtomicOp>(*operation);
  const bool only_atom = atomic.operation == AtomicOp::kExch || atomic.operation == AtomicOp::kCas;
  if (only_atom && !atomic.returns) return binder.fail("red has no .exch and no .cas");
  atomic.noftz = binder.take("noftz");
  return true;
}

bool take_element(Binder& binder, Atomic& atomic) {
  if (!take_cache_policy(binder, atomic.hints)) return false;
  if (const auto vector = binder.take_one_of({"v2", "v4", "v8"})) {
    if (!binder.need({8, 1}, 90)) return false;
    atomic.extra.vector = 2u << *vector;
  }
  atomic.type = binder.take_type();
  atomic.extra.bytes = ptx::bits_of(atomic.type) / 8;
  return atomic.type != Type::kNone;
}

/// The versions that have an operation on a type, and the modifiers that belong to it.
bool check_type(Binder& binder, const Atomic& atomic) {
  struct Row {
    Type type;
    ptx::Version version;
    int sm;
    bool noftz;
  };
  static constexpr Row kRows[] = {
      {Type::kB16, {6, 3}, 70, false},   {Type::kF16, {6, 3}, 70, true},
      {Type::kBf16, {7, 8}, 90, true},   {Type::kF16x2, {6, 2}, 60, true},
      {Type::kBf16x2, {7, 8}, 90, true}, {Type::kF64, {5, 0}, 60, false},
      {Type::kF32, {2, 0}, 20, false},   {Type::kU64, {1, 2}, 12, false},
      {Type::kS64, {3, 1}, 32, false},   {Type::kB128, {8, 3}, 90, false},
  };
  for (const Row& row : kRows) {
    if (row.type != atomic.type) continue;
    if (row.noftz && !atomic.noftz) return binder.fail("needs .noftz");
    if (!row.noftz && atomic.noftz) return binder.fail("has no .noftz for this type");
    if (row.type == Type::kB128 && atomic.is_sys && !binder.need({8, 4})) return false;
    return binder.need(row.version, row.sm);
  }
  return !atomic.noftz || binder.fail("has no .noftz for this type");
}

Handler handler_of(const Atomic& atomic) {
  return atomic.extra.vector > 1 ? atomic_vector_handler(atomic.operation, atomic.type)
                                 : atomic_handler(atomic.operation, atomic.type);
}

bool check_form(Binder& binder, const Atomic& atomic) {
  const PtxSpace space = atomic.extra.space;
  if (space != PtxSpace::kGlobal && space != PtxSpace::kShared && space != PtxSpace::kGeneric) {
    return binder.fail("works on .global, .shared and generic addresses");
  }
  if (handler_of(atomic) == nullptr) return binder.fail("has no such operation on this type");
  if (atomic.extra.vector == 1) return true;
  if (space == PtxSpace::kShared) return binder.fail("vectors are for .global");
  if (atomic.extra.bytes * atomic.extra.vector > 16) {
    return binder.fail("a vector has at most 128 bits");
  }
  return true;
}

/// Registers of one operand: a vector's, or one.
bool take_registers(Binder& binder, std::size_t index, const Atomic& atomic, bool destination,
                    std::vector<Arg>& to) {
  const auto items = binder.vector(index, atomic.extra.vector);
  if (!items) return false;
  for (const ptx::Operand& item : *items) {
    to.push_back(destination ? binder.destination(item, atomic.type, false, true)
                             : binder.source(item, atomic.type));
  }
  return !binder.failed();
}

bool emit_atomic(Binder& binder, Atomic atomic) {
  const std::size_t first = atomic.returns ? 1 : 0;
  const bool cas = atomic.operation == AtomicOp::kCas;
  const std::size_t count = first + (cas ? 3 : 2) + (atomic.hints.policy ? 1 : 0);
  if (!binder.expect_operands(count, count)) return false;
  const auto address = take_address(binder, first, atomic.extra);
  if (!address || !check_form(binder, atomic)) return false;
  if (!check_cache_hints(binder, atomic.hints, atomic.extra.space)) return false;
  if (cas && atomic.hints.policy) return binder.fail(".cas has no cache hint");
  std::vector<Arg> values;
  if (!take_registers(binder, first + 1, atomic, false, values)) return false;
  const Arg swap = cas ? binder.source(first + 2, atomic.type) : Arg{};
  if (atomic.hints.policy) binder.source(count - 1, Type::kB64);
  std::vector<Arg> results(atomic.returns ? 0 : atomic.extra.vector);
  if (atomic.returns && !take_registers(binder, 0, atomic, true, results)) return false;
  if (binder.failed()) return false;
  Op& op = binder.emit(handler_of(atomic), OpKind::kAtomic,
                       {results[0], address->base, values[0], swap});
  if (atomic.extra.vector > 1) {
    results.insert(results.end(), values.begin(), values.end());
    binder.more(op, results);
  }
  op.immediate = address->offset;
  op.extra = atomic.extra.packed();
  return binder.finish();
}

bool bind_atomic(Binder& binder, bool returns) {
  Atomic atomic;
  atomic.returns = returns;
  if (!take_order(binder, atomic)) return false;
  const auto space = take_space(binder);
  if (!space) return false;
  atomic.extra.space = *space;
  if (!take_operation(binder, atomic) || !take_element(binder, atomic)) return false;
  if (!check_type(binder, atomic)) return false;
  return emit_atomic(binder, atomic);
}

bool bind_atom(Binder& binder) {
  return bind_atomic(binder, true);
}
bool bind_red(Binder& binder) {
  if (binder.take("async")) return binder.fail("the twin has no .async");
  return bind_atomic(binder, false);
}

constexpr Opcode kAtomicOpcodes[] = {
    {"atom", {1, 1}, 11, bind_atom},
    {"red", {1, 2}, 11, bind_red},
};

}  // namespace

std::span<const Opcode> atomics_opcodes() {
  return kAtomicOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
