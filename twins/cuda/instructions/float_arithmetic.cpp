// add sub mul fma mad div rcp sqrt of f32 and f64. Rounding to nearest is vector code; the other
// roundings compute lane by lane with integers (directed.h).
#include <cmath>

#include "cuda/instructions/float_forms.h"
#include "cuda/instructions/float_operations.h"
#include "cuda/instructions/lanes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

// These have the form of those in float_operations.h.
struct Div {
  static constexpr unsigned kInputs = 2;
  template <class T>
  [[gnu::always_inline]] static T nearest(T a, T b, T) {
    return a / b;
  }
  template <class T>
  static T directed(T a, T b, T, Rounding rounding) {
    return divide_rounded(a, b, rounding);
  }
};
struct Rcp {
  static constexpr unsigned kInputs = 1;
  template <class T>
  [[gnu::always_inline]] static T nearest(T a, T, T) {
    return T{1} / a;
  }
  template <class T>
  static T directed(T a, T, T, Rounding rounding) {
    return divide_rounded(T{1}, a, rounding);
  }
};
struct Sqrt {
  static constexpr unsigned kInputs = 1;
  template <class T>
  [[gnu::always_inline]] static T nearest(T a, T, T) {
    return std::sqrt(a);
  }
  template <class T>
  static T directed(T a, T, T, Rounding rounding) {
    return sqrt_rounded(a, rounding);
  }
};

/// The lanes of up to three sources; those an operation does not have stand for the first.
template <class Operation, class T>
struct Sources {
  const T* a;
  const T* b;
  const T* c;
  Sources(Warp& warp, const Op& op)
      : a(lanes_of<T>(warp, op.args[1])),
        b(Operation::kInputs > 1 ? lanes_of<T>(warp, op.args[2]) : a),
        c(Operation::kInputs > 2 ? lanes_of<T>(warp, op.args[3]) : a) {}
};

template <class Operation, bool kFtz, bool kSat>
Next run_single(Warp& warp, const Op& op, LaneMask active) {
  float* to = lanes_of<float>(warp, op.args[0]);
  const Sources<Operation, float> from(warp, op);
  const float* a = from.a;
  const float* b = from.b;
  const float* c = from.c;
  each_lane(to, active, [=](unsigned i) {
    return result<kFtz, kSat>(
        Operation::nearest(operand<kFtz>(a[i]), operand<kFtz>(b[i]), operand<kFtz>(c[i])));
  });
  return Next::kOn;
}

template <class Operation>
[[gnu::always_inline]] inline double nan_of_sources(double a, double b, double c) {
  if constexpr (Operation::kInputs == 1) return nan_of(a);
  if constexpr (Operation::kInputs == 2) return nan_of(a, b);
  if constexpr (Operation::kInputs == 3) return nan_of(a, b, c);
}

template <class Operation>
Next run_double(Warp& warp, const Op& op, LaneMask active) {
  double* to = lanes_of<double>(warp, op.args[0]);
  const Sources<Operation, double> from(warp, op);
  const double* a = from.a;
  const double* b = from.b;
  const double* c = from.c;
  each_lane(to, active, [=](unsigned i) {
    const double value = Operation::nearest(a[i], b[i], c[i]);
    return value == value ? value : nan_of_sources<Operation>(a[i], b[i], c[i]);
  });
  return Next::kOn;
}

template <class Operation>
double directed_double(double a, double b, double c, std::uint32_t flags) {
  const auto rounding = static_cast<Rounding>(flags & kRoundingBits);
  const bool nan = a != a || b != b || c != c;
  const double value = nan ? a + b + c : Operation::directed(a, b, c, rounding);
  return value == value ? value : nan_of_sources<Operation>(a, b, c);
}

template <class Operation, class T>
Next run_directed(Warp& warp, const Op& op, LaneMask active) {
  T* to = lanes_of<T>(warp, op.args[0]);
  const Sources<Operation, T> from(warp, op);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    if constexpr (sizeof(T) == 4) {
      to[i] = directed_single<Operation>(from.a[i], from.b[i], from.c[i], op.extra);
    } else {
      to[i] = directed_double<Operation>(from.a[i], from.b[i], from.c[i], op.extra);
    }
  }
  return Next::kOn;
}

template <class Operation>
Handler handler_of(const FloatForm& form) {
  if (form.rounding.value_or(Rounding::kNearest) != Rounding::kNearest) {
    return form.type == Type::kF64 ? run_directed<Operation, double>
                                   : run_directed<Operation, float>;
  }
  if (form.type == Type::kF64) return run_double<Operation>;
  constexpr Handler kSingle[2][2] = {
      {run_single<Operation, false, false>, run_single<Operation, false, true>},
      {run_single<Operation, true, false>, run_single<Operation, true, true>}};
  return kSingle[form.ftz][form.sat];
}

template <class Operation>
bool bind_form(Binder& binder, const FloatForm& form) {
  if (form.relu) return binder.fail("it has no .relu");
  return emit_float(binder, handler_of<Operation>(form), form.type, Operation::kInputs,
                    float_flags(form));
}

template <class Operation, HalfOperation kHalf>
bool bind_float_sum(Binder& binder) {
  const auto form = read_float_form(binder, kArithmeticFloats);
  if (!form) return false;
  if (is_pair_or_mixed(binder, *form)) return bind_pair_or_mixed(binder, *form, kHalf);
  if (form->is_half()) return bind_half_arithmetic(binder, *form, kHalf);
  return bind_form<Operation>(binder, *form);
}

bool bind_fma(Binder& binder) {
  const auto form = read_float_form(binder, kArithmeticFloats);
  if (!form) return false;
  if (!form->rounding) return binder.fail("it needs a rounding: .rn, .rz, .rm or .rp");
  if (is_pair_or_mixed(binder, *form)) {
    return bind_pair_or_mixed(binder, *form, HalfOperation::kFma);
  }
  if (form->is_half()) return bind_half_arithmetic(binder, *form, HalfOperation::kFma);
  return bind_form<FloatFma>(binder, *form);
}

// Instructions of f32 and f64 that need a rounding and have no .sat.
template <class Operation>
bool bind_rounded(Binder& binder) {
  const auto form = read_float_form(binder, {Type::kF32, Type::kF64});
  if (!form) return false;
  if (!form->rounding) return binder.fail("it needs .approx or a rounding");
  if (form->sat) return binder.fail("it has no .sat");
  return bind_form<Operation>(binder, *form);
}

bool bind_mad(Binder& binder) {
  const auto form = read_float_form(binder, {Type::kF32, Type::kF64});
  if (!form) return false;
  if (!form->rounding) return binder.fail("it needs a rounding: .rn, .rz, .rm or .rp");
  return bind_form<FloatFma>(binder, *form);
}

bool bind_div(Binder& binder) {
  if (binder.take("approx")) return bind_approximate_divide(binder, false);
  if (binder.take_first("full")) return bind_approximate_divide(binder, true);
  return bind_rounded<Div>(binder);
}

bool bind_rcp(Binder& binder) {
  return binder.take("approx") ? bind_approximate_rcp(binder) : bind_rounded<Rcp>(binder);
}

bool bind_sqrt(Binder& binder) {
  return binder.take("approx") ? bind_approximate_sqrt(binder) : bind_rounded<Sqrt>(binder);
}

constexpr Opcode kArithmeticOpcodes[] = {
    {"add", {1, 0}, 0, bind_float_sum<FloatAdd, HalfOperation::kAdd>, has_float_type},
    {"sub", {1, 0}, 0, bind_float_sum<FloatSub, HalfOperation::kSub>, has_float_type},
    {"mul", {1, 0}, 0, bind_float_sum<FloatMul, HalfOperation::kMul>, has_float_type},
    {"fma", {1, 4}, 0, bind_fma, nullptr},
    {"mad", {1, 0}, 0, bind_mad, has_float_type},
    {"div", {1, 0}, 0, bind_div, has_float_type},
    {"rcp", {1, 0}, 0, bind_rcp, nullptr},
    {"sqrt", {1, 0}, 0, bind_sqrt, nullptr},
};

}  // namespace

std::span<const Opcode> float_arithmetic_opcodes() {
  return kArithmeticOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
