// cvt between integers, and cvt.pack.
#include <algorithm>
#include <limits>
#include <memory>

#include "cuda/instructions/conversions.h"
#include "cuda/instructions/lanes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

constexpr std::uint64_t low_mask(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// The low bits of a value, extended: ((x & mask) ^ sign) - sign. `sign` is 0 for unsigned types.
struct Extension {
  std::uint64_t mask = 0, sign = 0;
  Extension() = default;
  Extension(unsigned bits, bool is_signed)
      : mask(low_mask(bits)), sign(is_signed ? std::uint64_t{1} << (bits - 1) : 0) {}
  template <class T>
  [[gnu::always_inline]] T apply(T value) const {
    return static_cast<T>(((value & static_cast<T>(mask)) ^ static_cast<T>(sign)) -
                          static_cast<T>(sign));
  }
};

/// Parameters of an op that resizes. The program owns them.
struct Resize {
  Extension from, to;
  std::uint64_t register_mask = 0;
  std::int64_t least = 0, most = 0;  ///< of .sat, for signed sources
  std::uint64_t unsigned_most = 0;
};

template <class To, class From>
Next run_resize(Warp& warp, const Op& op, LaneMask active) {
  using Work = std::conditional_t<(sizeof(To) > sizeof(From)), To, From>;
  auto* to = lanes_of<To>(warp, op.args[0]);
  const auto* from = lanes_of<From>(warp, op.args[1]);
  const Resize plan = plan_of<Resize>(op);
  each_lane(to, active, [=](unsigned i) {
    const Work value = plan.from.apply(static_cast<Work>(from[i]));
    return static_cast<To>(plan.to.apply(value) & static_cast<Work>(plan.register_mask));
  });
  return Next::kOn;
}

template <class To, class From, bool kSigned>
Next run_saturate(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<To>(warp, op.args[0]);
  const auto* from = lanes_of<From>(warp, op.args[1]);
  const Resize plan = plan_of<Resize>(op);
  each_lane(to, active, [=](unsigned i) {
    const std::uint64_t value = plan.from.apply(static_cast<std::uint64_t>(from[i]));
    std::uint64_t near = std::min(value, plan.unsigned_most);
    if constexpr (kSigned) {
      near = static_cast<std::uint64_t>(
          std::clamp(static_cast<std::int64_t>(value), plan.least, plan.most));
    }
    return static_cast<To>(near & plan.register_mask);
  });
  return Next::kOn;
}

template <class To, class From>
Handler resize_handler(bool saturate, bool is_signed) {
  if (!saturate) return run_resize<To, From>;
  return is_signed ? run_saturate<To, From, true> : run_saturate<To, From, false>;
}

Handler resize_handler(unsigned to_bytes, unsigned from_bytes, bool saturate, bool is_signed) {
  if (to_bytes == 8) {
    return from_bytes == 8 ? resize_handler<std::uint64_t, std::uint64_t>(saturate, is_signed)
                           : resize_handler<std::uint64_t, std::uint32_t>(saturate, is_signed);
  }
  return from_bytes == 8 ? resize_handler<std::uint32_t, std::uint64_t>(saturate, is_signed)
                         : resize_handler<std::uint32_t, std::uint32_t>(saturate, is_signed);
}

// cvt.pack: each half is limited, and the third operand moves up behind them.
struct Pack {
  std::int32_t least = 0, most = 0;
  unsigned bits = 0;
};

template <bool kThird>
Next run_pack(Warp& warp, const Op& op, LaneMask active) {
  auto* to = lanes_of<std::uint32_t>(warp, op.args[0]);
  const auto* a = lanes_of<std::int32_t>(warp, op.args[1]);
  const auto* b = lanes_of<std::int32_t>(warp, op.args[2]);
  const auto* c = kThird ? lanes_of<std::uint32_t>(warp, op.args[3]) : to;
  const Pack plan = plan_of<Pack>(op);
  const auto mask = static_cast<std::uint32_t>(low_mask(plan.bits));
  each_lane(to, active, [=](unsigned i) {
    const auto high = static_cast<std::uint32_t>(std::clamp(a[i], plan.least, plan.most)) & mask;
    const auto low = static_cast<std::uint32_t>(std::clamp(b[i], plan.least, plan.most)) & mask;
    const std::uint32_t rest = kThird ? c[i] << (2 * plan.bits) : 0u;
    return rest | high << plan.bits | low;
  });
  return Next::kOn;
}

struct PackRow {
  std::string_view name;
  unsigned bits;
  bool is_signed;
};
constexpr PackRow kPackRows[] = {{"u16", 16, false}, {"s16", 16, true}, {"u8", 8, false},
                                 {"s8", 8, true},    {"u4", 4, false},  {"s4", 4, true},
                                 {"u2", 2, false},   {"s2", 2, true}};

}  // namespace

void emit_resize(Binder& binder, const Arg& to, Type to_type, unsigned register_bits,
                 const Arg& from, Type from_type, bool saturate) {
  if (binder.failed()) return;
  auto plan = std::make_shared<Resize>();
  const unsigned to_bits = ptx::bits_of(to_type);
  plan->from = Extension(ptx::bits_of(from_type), is_signed(from_type));
  plan->to = Extension(to_bits, is_signed(to_type));
  plan->register_mask = low_mask(register_bits);
  if (is_signed(to_type)) {
    plan->most = static_cast<std::int64_t>(low_mask(to_bits - 1));
    plan->least = -plan->most - 1;
    plan->unsigned_most = low_mask(to_bits - 1);
  } else {
    plan->most = to_bits == 64 ? std::numeric_limits<std::int64_t>::max()
                               : static_cast<std::int64_t>(low_mask(to_bits));
    plan->unsigned_most = low_mask(to_bits);
  }
  const Handler run = resize_handler(to.bytes, from.bytes, saturate, is_signed(from_type));
  Op& op = binder.emit(run, OpKind::kConvert, {to, from});
  set_plan<Resize>(binder, op, std::move(plan));
}

bool bind_cvt_pack(Binder& binder) {
  if (!binder.need({6, 5}, 72)) return false;
  if (!binder.take("sat")) return binder.fail("cvt.pack needs .sat");
  const auto* row = std::find_if(std::begin(kPackRows), std::end(kPackRows),
                                 [&](const PackRow& r) { return binder.take(r.name); });
  if (row == std::end(kPackRows)) return binder.fail("cvt.pack has no such type");
  if (row->bits < 8 && !binder.need({6, 5}, 75)) return false;
  binder.take_type({Type::kS32});
  const bool third = row->bits < 16;
  if (third) binder.take_type({Type::kB32});
  const std::size_t count = third ? 4 : 3;
  if (binder.failed() || !binder.expect_operands(count, count)) return false;
  const Arg to = binder.destination(0, Type::kU32);
  const Arg a = binder.source(1, Type::kS32);
  const Arg b = binder.source(2, Type::kS32);
  const Arg c = third ? binder.source(3, Type::kB32) : Arg{};
  if (binder.failed()) return false;
  auto plan = std::make_shared<Pack>();
  plan->bits = row->bits;
  plan->most = static_cast<std::int32_t>(low_mask(row->is_signed ? row->bits - 1 : row->bits));
  plan->least = row->is_signed ? -plan->most - 1 : 0;
  Op& op = binder.emit(third ? run_pack<true> : run_pack<false>, OpKind::kConvert, {to, a, b, c});
  set_plan<Pack>(binder, op, std::move(plan));
  return binder.finish();
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
