#include "cuda/instructions/float_forms.h"

#include "cuda/instructions/forms.h"

#include <string>

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

bool allowed(Binder& binder, const FloatForm& form) {
  const bool is_double = form.type == Type::kF64;
  if (form.ftz && (is_double || form.is_bf16())) {
    return binder.fail(".ftz is for f32, f16 and f16x2");
  }
  if (form.sat && (is_double || form.is_bf16() || form.type == Type::kF32x2)) {
    return binder.fail(".sat is for f32, f16 and f16x2");
  }
  if (form.relu && !form.is_half()) return binder.fail(".relu is for 16-bit types");
  if (form.relu && form.sat) return binder.fail(".sat and .relu exclude each other");
  if (form.is_half() && form.rounding.value_or(Rounding::kNearest) != Rounding::kNearest) {
    return binder.fail("16-bit types have the rounding .rn only");
  }
  return true;
}

}  // namespace

std::optional<FloatForm> read_float_form(Binder& binder, std::initializer_list<Type> types) {
  FloatForm form;
  if (const auto rounding = binder.take_one_of({"rn", "rz", "rm", "rp"})) {
    form.rounding = static_cast<Rounding>(*rounding);
  }
  form.ftz = binder.take("ftz");
  form.sat = binder.take("sat");
  form.relu = binder.take("relu");
  form.type = binder.take_type(types);
  if (binder.failed() || !allowed(binder, form)) return std::nullopt;
  return form;
}

bool emit_float(Binder& binder, Handler run, Type type, unsigned inputs, std::uint32_t extra) {
  if (!binder.expect_operands(inputs + 1, inputs + 1)) return false;
  Arg args[4];
  args[0] = binder.destination(0, type);
  for (unsigned k = 1; k <= inputs; ++k) args[k] = binder.source(k, type);
  if (binder.failed()) return false;
  const bool half = ptx::bits_of(type) == 16 || type == Type::kF16x2 || type == Type::kBf16x2;
  const OpKind kind = type == Type::kF64 ? OpKind::kDouble : half ? OpKind::kHalf : OpKind::kFloat;
  binder.emit(run, kind, {args[0], args[1], args[2], args[3]}).extra = extra;
  return binder.finish();
}

bool has_float_type(const ptx::Instruction& instruction) {
  return ptx::kind_of(last_type(instruction)) == ptx::Kind::kFloat;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
