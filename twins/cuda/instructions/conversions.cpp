// The grammar of cvt.
#include "cuda/instructions/conversions.h"

#include <initializer_list>
#include <string>

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

bool read_rounding(Binder& binder, CvtForm& form) {
  if (const auto r = binder.take_one_of({"rn", "rz", "rm", "rp"})) {
    form.rounding = static_cast<Rounding>(*r);
  } else if (const auto i = binder.take_one_of({"rni", "rzi", "rmi", "rpi"})) {
    form.integer_rounding = static_cast<Rounding>(*i);
  } else {
    form.away = binder.take("rna");
    form.stochastic = !form.away && binder.take("rs");
  }
  return true;
}

// The document writes .relu and .satfinite in either order.
bool read_flags(Binder& binder, CvtForm& form) {
  for (;;) {
    bool* flag = binder.take("ftz")         ? &form.ftz
                 : binder.take("sat")       ? &form.sat
                 : binder.take("relu")      ? &form.relu
                 : binder.take("satfinite") ? &form.satfinite
                                            : nullptr;
    if (flag == nullptr) return true;
    if (*flag) return binder.fail("a modifier is there twice");
    *flag = true;
  }
}

bool is_scalar(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kBf16:
    case Type::kF32:
    case Type::kF64:
      return true;
    default: {
      const ptx::Kind kind = ptx::kind_of(type);
      return (kind == ptx::Kind::kSigned || kind == ptx::Kind::kUnsigned) && type != Type::kU16x2 &&
             type != Type::kS16x2;
    }
  }
}

/// Can every value of `from` be represented, so that .sat has nothing to do?
bool holds_all(Type to, Type from) {
  const unsigned to_bits = ptx::bits_of(to);
  const unsigned from_bits = ptx::bits_of(from);
  if (is_signed(to) == is_signed(from)) return to_bits >= from_bits;
  return is_signed(to) && to_bits > from_bits;
}

bool loses_precision(Type to, Type from) {
  const bool halves = ptx::bits_of(to) == 16 && ptx::bits_of(from) == 16 && to != from;
  return halves || ptx::bits_of(to) < ptx::bits_of(from);
}

bool check_integers(Binder& binder, const CvtForm& form) {
  if (form.rounding || form.integer_rounding) {
    return binder.fail("a conversion of integers has no rounding");
  }
  if (form.sat && holds_all(form.to, form.from)) {
    return binder.fail(".sat is for a type that cannot hold all values");
  }
  return true;
}

bool check_floats(Binder& binder, const CvtForm& form) {
  if (loses_precision(form.to, form.from)) {
    if (!form.rounding) return binder.fail("it needs a rounding: .rn, .rz, .rm or .rp");
    return true;
  }
  // Those of bf16 may have a rounding, which changes nothing.
  if (form.rounding && (form.from != Type::kBf16 || form.to == Type::kBf16)) {
    return binder.fail("it is exact and has no rounding");
  }
  if (form.integer_rounding && form.to != form.from) {
    return binder.fail("a rounding to an integer is for floats of one type");
  }
  return true;
}

bool check_rounding(Binder& binder, const CvtForm& form) {
  if (form.away) return binder.fail(".rna is for tf32");
  const bool to_float = is_float(form.to);
  const bool from_float = is_float(form.from);
  if (!to_float && !from_float) return check_integers(binder, form);
  if (to_float && from_float) return check_floats(binder, form);
  if (to_float && !form.rounding) {
    return binder.fail("it needs a rounding: .rn, .rz, .rm or .rp");
  }
  if (from_float && !form.integer_rounding) {
    return binder.fail("it needs a rounding: .rni, .rzi, .rmi or .rpi");
  }
  return !(from_float && form.rounding) || binder.fail("it has one rounding only");
}

bool check_flags(Binder& binder, const CvtForm& form) {
  if (form.ftz && form.to != Type::kF32 && form.from != Type::kF32) {
    return binder.fail(".ftz needs f32 on one side");
  }
  if (form.sat && (form.to == Type::kBf16 || form.from == Type::kBf16)) {
    return binder.fail("bf16 has no .sat");
  }
  if (!form.relu && !form.satfinite) return true;
  const bool half_of_single =
      (form.to == Type::kF16 || form.to == Type::kBf16) && form.from == Type::kF32;
  if (!half_of_single) return binder.fail("it has no .relu or .satfinite");
  if (form.ftz || form.sat) return binder.fail(".relu and .satfinite exclude .ftz and .sat");
  if (form.rounding != Rounding::kNearest && form.rounding != Rounding::kZero) {
    return binder.fail("it needs .rn or .rz");
  }
  return binder.need(form.satfinite ? ptx::Version{8, 1} : ptx::Version{7, 0}, 80);
}

bool check_bf16(Binder& binder, const CvtForm& form) {
  if (form.to == Type::kBf16 && form.from == Type::kF32) {
    const bool directed = form.rounding == Rounding::kDown || form.rounding == Rounding::kUp;
    return directed ? binder.need({7, 8}, 90) : binder.need({7, 0}, 80);
  }
  if (form.to == Type::kF32 && form.from == Type::kBf16) {
    return form.ftz || form.rounding ? binder.need({7, 8}, 90) : binder.need({7, 1}, 80);
  }
  const bool either = form.to == Type::kBf16 || form.from == Type::kBf16;
  return !either || binder.need({7, 8}, 90);
}

/// A source in a register of its type's own size (32 or 64 bits).
Arg fitted_source(Binder& binder, Type type, bool wider) {
  const Arg from = binder.source(1, type, wider);
  const unsigned bits = ptx::bits_of(type);
  const unsigned bytes = bits == 64 ? 8 : 4;
  const bool fits = is_float(type) ? from.bytes == bytes : bits >= 32 && from.bytes == bytes;
  if (binder.failed() || fits) return from;
  const Arg own = binder.temporary(bytes);
  // The extension to 32 bits is that of the type.
  const bool negative = is_signed(type);
  const Type narrow = !is_float(type) ? type : bits == 16 ? Type::kU16 : Type::kU32;
  emit_resize(binder, own, negative ? Type::kS32 : Type::kU32, 32, from, narrow, false);
  return own;
}

struct Destination {
  Arg arg;            ///< the register
  Arg own;            ///< where the handler writes: it, or one of the type's own size
  unsigned bits = 0;  ///< of the register
  bool fits = true;   ///< `own` is the register
};

Destination fitted_destination(Binder& binder, Type type, bool wider) {
  Destination to;
  to.arg = binder.destination(0, type, wider);
  to.bits = binder.register_bits(binder.operand(0));
  const unsigned bits = ptx::bits_of(type);
  const unsigned bytes = bits == 64 ? 8 : 4;
  to.fits = is_float(type) ? to.arg.bytes == bytes : to.bits == bits && bits >= 32;
  to.own = to.fits || binder.failed() ? to.arg : binder.temporary(bytes);
  return to;
}

void spread(Binder& binder, const Destination& to, Type type) {
  if (binder.failed() || to.fits) return;
  const bool half = is_float(type) && ptx::bits_of(type) == 16;
  const Type plain = !is_float(type) ? type : half ? Type::kU16 : Type::kU32;
  emit_resize(binder, to.arg, plain, to.bits, to.own, plain, false);
}

void emit_conversion(Binder& binder, const CvtForm& form) {
  if (!is_float(form.to) && !is_float(form.from)) {
    const Arg to = binder.destination(0, form.to, true);
    const Arg from = binder.source(1, form.from, true);
    emit_resize(binder, to, form.to, binder.register_bits(binder.operand(0)), from, form.from,
                form.sat);
    return;
  }
  // Registers of a conversion with bf16 have the size of their type.
  const bool wider = form.to != Type::kBf16 && form.from != Type::kBf16;
  const Arg from = fitted_source(binder, form.from, wider);
  const Destination to = fitted_destination(binder, form.to, wider);
  if (binder.failed()) return;
  if (!is_float(form.to)) {
    emit_float_to_integer(binder, form, to.own, from);
  } else {
    const Handler run = is_float(form.from)
                            ? float_to_float(form)
                            : integer_to_float(form, is_signed(form.from), ptx::bits_of(form.from));
    binder.emit(run, OpKind::kConvert, {to.own, from}).extra = flags_of(form);
  }
  spread(binder, to, form.to);
}

bool bind_cvt(Binder& binder) {
  if (binder.take_first("pack")) return bind_cvt_pack(binder);
  CvtForm form;
  if (!read_rounding(binder, form) || !read_flags(binder, form)) return false;
  form.to = binder.take_type();
  if (!binder.failed()) form.from = binder.take_type();
  if (binder.failed()) return false;
  if (is_packed_cvt(form)) return bind_cvt_packed(binder, form);
  if (!is_scalar(form.to) || !is_scalar(form.from)) {
    return binder.fail("there is no such conversion");
  }
  if (!check_rounding(binder, form) || !check_flags(binder, form) || !check_bf16(binder, form) ||
      !binder.expect_operands(2, 2)) {
    return false;
  }
  emit_conversion(binder, form);
  return binder.finish();
}

constexpr Opcode kConversionOpcodes[] = {{"cvt", {1, 0}, 0, bind_cvt, nullptr}};

}  // namespace

std::span<const Opcode> conversions_opcodes() {
  return kConversionOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
