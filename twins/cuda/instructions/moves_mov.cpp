// mov: of registers, constants, addresses and predicates; packing and unpacking.
#include <cstring>

#include "cuda/instructions/apply.h"
#include "cuda/instructions/forms.h"
#include "cuda/instructions/moves.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

template <class Word>
Word same(Word a) {
  return a;
}

Next run_mov_predicate(Warp& warp, const Op& op, LaneMask active) {
  set_predicate(warp, op.args[0], predicate_of(warp, op.args[1]), active);
  return Next::kOn;
}

/// Registers of 128 bits have two words a lane.
Next run_mov128(Warp& warp, const Op& op, LaneMask active) {
  std::uint64_t* to = lanes_of<std::uint64_t>(warp, op.args[0]);
  const std::uint64_t* from = lanes_of<std::uint64_t>(warp, op.args[1]);
  for (unsigned i = 0; i < 2 * kLanes; ++i) {
    if ((active >> (i / 2) & 1u) != 0) to[i] = from[i];
  }
  return Next::kOn;
}

/// Op::more has the destinations, then the sources. All are read before one is written.
template <class Word>
Next run_mov_vector(Warp& warp, const Op& op, LaneMask active) {
  const unsigned parts = op.count_more / 2u;
  Word values[4][kLanes];
  for (unsigned k = 0; k < parts; ++k) {
    std::memcpy(values[k], lanes_of<Word>(warp, op.more[parts + k]), sizeof values[k]);
  }
  for (unsigned k = 0; k < parts; ++k) {
    if (op.more[k].bank != Bank::kRegisters) continue;
    each_lane(lanes_of<Word>(warp, op.more[k]), active, [&](unsigned i) { return values[k][i]; });
  }
  return Next::kOn;
}

/// The items of a vector are in Op::more, that of the lowest bits first.
template <class Whole, class Item, unsigned bits>
Next run_pack(Warp& warp, const Op& op, LaneMask active) {
  constexpr auto kMask = static_cast<Item>((std::uint64_t{1} << bits) - 1);
  Whole all[kLanes] = {};
  for (unsigned k = 0; k < op.count_more; ++k) {
    const Item* item = lanes_of<Item>(warp, op.more[k]);
    for (unsigned i = 0; i < kLanes; ++i) {
      all[i] |= static_cast<Whole>(item[i] & kMask) << (bits * k);
    }
  }
  each_lane(lanes_of<Whole>(warp, op.args[0]), active, [&](unsigned i) { return all[i]; });
  return Next::kOn;
}

template <class Whole, class Item, unsigned bits>
Next run_unpack(Warp& warp, const Op& op, LaneMask active) {
  constexpr auto kMask = static_cast<Item>((std::uint64_t{1} << bits) - 1);
  const Whole* from = lanes_of<Whole>(warp, op.args[0]);
  for (unsigned k = 0; k < op.count_more; ++k) {
    if (op.more[k].bank != Bank::kRegisters) continue;
    each_lane(lanes_of<Item>(warp, op.more[k]), active,
              [=](unsigned i) { return static_cast<Item>(from[i] >> (bits * k)) & kMask; });
  }
  return Next::kOn;
}

Next run_pack128(Warp& warp, const Op& op, LaneMask active) {
  std::uint64_t* to = lanes_of<std::uint64_t>(warp, op.args[0]);
  for (unsigned k = 0; k < 2; ++k) {
    const std::uint64_t* item = lanes_of<std::uint64_t>(warp, op.more[k]);
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((active >> i & 1u) != 0) to[2 * i + k] = item[i];
    }
  }
  return Next::kOn;
}

Next run_unpack128(Warp& warp, const Op& op, LaneMask active) {
  const std::uint64_t* from = lanes_of<std::uint64_t>(warp, op.args[0]);
  for (unsigned k = 0; k < 2; ++k) {
    if (op.more[k].bank != Bank::kRegisters) continue;
    each_lane(lanes_of<std::uint64_t>(warp, op.more[k]), active,
              [=](unsigned i) { return from[2 * i + k]; });
  }
  return Next::kOn;
}

/// Into how many items of which type a type is taken apart.
struct Parts {
  ptx::Type whole;
  std::size_t count;
  ptx::Type item;
  Handler pack, unpack;
};
constexpr Parts kParts[] = {
    {kB16, 2, kB8, run_pack<std::uint32_t, std::uint32_t, 8>,
     run_unpack<std::uint32_t, std::uint32_t, 8>},
    {kB32, 4, kB8, run_pack<std::uint32_t, std::uint32_t, 8>,
     run_unpack<std::uint32_t, std::uint32_t, 8>},
    {kB32, 2, kB16, run_pack<std::uint32_t, std::uint32_t, 16>,
     run_unpack<std::uint32_t, std::uint32_t, 16>},
    {kB64, 4, kB16, run_pack<std::uint64_t, std::uint32_t, 16>,
     run_unpack<std::uint64_t, std::uint32_t, 16>},
    {kB64, 2, kB32, run_pack<std::uint64_t, std::uint32_t, 32>,
     run_unpack<std::uint64_t, std::uint32_t, 32>},
    {kB128, 2, kB64, run_pack128, run_unpack128},
};

bool bind_parts(Binder& binder, ptx::Type type, bool pack) {
  const std::size_t vector = pack ? 1 : 0;
  const auto given = binder.vector(vector, binder.operand(vector).items.size());
  if (!given) return false;
  const auto items = *given;
  for (const Parts& parts : kParts) {
    if (parts.whole != type || parts.count != items.size()) continue;
    Arg args[4];
    for (std::size_t k = 0; k < items.size(); ++k) {
      args[k] = pack ? binder.source(items[k], parts.item)
                     : binder.destination(items[k], parts.item, false, true);
    }
    const Arg whole = pack ? binder.destination(0, type) : binder.source(1, type);
    if (binder.failed()) return false;
    Op& op = binder.emit(pack ? parts.pack : parts.unpack, OpKind::kMove, {whole});
    binder.more(op, {args, items.size()});
    return binder.finish();
  }
  return binder.fail("no vector of " + std::to_string(items.size()) + " for ." +
                     std::string(ptx::name_of(type)));
}

bool bind_mov_predicate(Binder& binder) {
  binder.take("pred");
  if (!binder.expect_operands(2, 2)) return false;
  const Arg to = binder.predicate_destination(0, false);
  const Arg from = binder.predicate_source(1);
  if (binder.failed()) return false;
  binder.emit(run_mov_predicate, OpKind::kMove, {to, from});
  return binder.finish();
}

/// The components of %tid and its like.
bool special_components(Binder& binder, ptx::Type type, Arg (&to)[4]) {
  if (!binder.need({8, 3}, 70)) return false;
  constexpr const char* kComponents[] = {".x", ".y", ".z", ".w"};
  for (std::size_t k = 0; k < 4; ++k) {
    ptx::Operand component = binder.operand(1);
    component.name += kComponents[k];
    to[k] = binder.source(component, type);
  }
  return !binder.failed();
}

bool vector_items(Binder& binder, ptx::Type type, std::size_t parts, Arg (&to)[4]) {
  if (parts == 4 && binder.operand(1).kind == ptx::Operand::Kind::kSpecial) {
    return special_components(binder, type, to);
  }
  const auto from = binder.vector(1, parts);
  if (!from) return false;
  for (std::size_t k = 0; k < parts; ++k) to[k] = binder.source((*from)[k], type);
  return !binder.failed();
}

bool bind_mov_vector(Binder& binder, std::size_t parts) {
  const ptx::Type type =
      binder.take_type({kB16, kB32, kB64, kU16, kU32, kU64, kS16, kS32, kS64, kF32, kF64});
  if (ptx::bits_of(type) * parts > 128) return binder.fail("a vector has at most 128 bits");
  if (binder.failed() || !binder.expect_operands(2, 2)) return false;
  const auto to = binder.vector(0, parts);
  Arg from[4];
  if (!to || !vector_items(binder, type, parts, from)) return false;
  Arg args[8];
  for (std::size_t k = 0; k < parts; ++k) {
    args[parts + k] = from[k];
    args[k] = binder.destination((*to)[k], type, false, true);
  }
  if (binder.failed()) return false;
  const bool wide = ptx::bits_of(type) == 64;
  Op& op = binder.emit(wide ? run_mov_vector<std::uint64_t> : run_mov_vector<std::uint32_t>,
                       OpKind::kMove, {});
  binder.more(op, {args, 2 * parts});
  return binder.finish();
}

Handler mov_handler(ptx::Type type) {
  if (type == kB128) return run_mov128;
  return ptx::bits_of(type) == 64 ? apply<same<std::uint64_t>> : apply<same<std::uint32_t>>;
}

}  // namespace

bool bind_mov(Binder& binder) {
  if (binder.next() == "pred") return bind_mov_predicate(binder);
  if (const auto vector = binder.take_one_of({"v2", "v4"})) {
    return bind_mov_vector(binder, *vector == 0 ? 2 : 4);
  }
  const ptx::Type type =
      binder.take_type({kB16, kB32, kB64, kB128, kU16, kU32, kU64, kS16, kS32, kS64, kF32, kF64});
  if (binder.failed() || !binder.expect_operands(2, 2)) return false;
  if (type == kB128 && !binder.need({8, 3}, 70)) return false;
  const bool unpack = binder.operand(0).kind == ptx::Operand::Kind::kVector;
  const bool pack = binder.operand(1).kind == ptx::Operand::Kind::kVector;
  if (pack && unpack) return binder.fail("only one operand may be a vector");
  if (pack || unpack) return bind_parts(binder, type, pack);
  return emit_form(binder, mov_handler(type), OpKind::kMove, type, {type});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
