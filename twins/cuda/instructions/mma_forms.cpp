// The grammar of mma.sync, as tables: shapes, types, versions.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/instructions/fragments.h"
#include "cuda/instructions/mma.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Type;

template <class Elements>
constexpr Multiplicand multiplicand(std::string_view name, MmaFamily family) {
  return {name, family, Elements::kCount, unpack_rows<Elements>, unpack_columns<Elements>};
}
constexpr Multiplicand kMultiplicands[] = {
    multiplicand<F16Elements>("f16", MmaFamily::kF16),
    multiplicand<Bf16Elements>("bf16", MmaFamily::kBf16),
    multiplicand<Tf32Elements>("tf32", MmaFamily::kTf32),
    multiplicand<E4m3Elements>("e4m3", MmaFamily::kF8),
    multiplicand<E5m2Elements>("e5m2", MmaFamily::kF8),
    multiplicand<IntegerElements<8, true>>("s8", MmaFamily::kI8),
    multiplicand<IntegerElements<8, false>>("u8", MmaFamily::kI8),
    multiplicand<IntegerElements<4, true>>("s4", MmaFamily::kI4),
    multiplicand<IntegerElements<4, false>>("u4", MmaFamily::kI4),
    {"b1", MmaFamily::kB1, 32, nullptr, nullptr},
    {"f64", MmaFamily::kF64, 1, nullptr, nullptr},
};

struct MmaForm {
  std::string_view shape;
  MmaFamily family;
  unsigned rows, k;
  ptx::Version version;
  int sm;
};
constexpr MmaForm kForms[] = {
    {"m16n8k8", MmaFamily::kF16, 16, 8, {6, 5}, 75},
    {"m16n8k16", MmaFamily::kF16, 16, 16, {7, 0}, 80},
    {"m16n8k8", MmaFamily::kBf16, 16, 8, {7, 0}, 80},
    {"m16n8k16", MmaFamily::kBf16, 16, 16, {7, 0}, 80},
    {"m16n8k4", MmaFamily::kTf32, 16, 4, {7, 0}, 80},
    {"m16n8k8", MmaFamily::kTf32, 16, 8, {7, 0}, 80},
    {"m16n8k32", MmaFamily::kF8, 16, 32, {8, 4}, 89},
    {"m8n8k16", MmaFamily::kI8, 8, 16, {6, 5}, 75},
    {"m16n8k16", MmaFamily::kI8, 16, 16, {7, 0}, 80},
    {"m16n8k32", MmaFamily::kI8, 16, 32, {7, 0}, 80},
    {"m8n8k32", MmaFamily::kI4, 8, 32, {6, 5}, 75},
    {"m16n8k32", MmaFamily::kI4, 16, 32, {7, 0}, 80},
    {"m16n8k64", MmaFamily::kI4, 16, 64, {7, 0}, 80},
    {"m8n8k128", MmaFamily::kB1, 8, 128, {7, 0}, 75},
    {"m16n8k128", MmaFamily::kB1, 16, 128, {7, 0}, 80},
    {"m16n8k256", MmaFamily::kB1, 16, 256, {7, 0}, 80},
    {"m8n8k4", MmaFamily::kF64, 8, 4, {7, 0}, 80},
    {"m16n8k4", MmaFamily::kF64, 16, 4, {7, 8}, 90},
    {"m16n8k8", MmaFamily::kF64, 16, 8, {7, 8}, 90},
    {"m16n8k16", MmaFamily::kF64, 16, 16, {7, 8}, 90},
};

const Multiplicand* multiplicand_named(std::string_view name) {
  for (const Multiplicand& row : kMultiplicands) {
    if (row.name == name) return &row;
  }
  return nullptr;
}
const MmaForm* form_of(std::string_view shape, MmaFamily family) {
  for (const MmaForm& form : kForms) {
    if (form.shape == shape && form.family == family) return &form;
  }
  return nullptr;
}

/// Types of D and C.
struct MmaResult {
  std::string_view type;
  Accumulate accumulate;
  Type register_type;
  Handler run;
};
constexpr MmaResult kResultTypes[] = {
    {"f32", Accumulate::kFloat, Type::kF32, mma_float},
    {"f16", Accumulate::kHalf, Type::kF16x2, mma_float},
    {"s32", Accumulate::kInteger, Type::kS32, mma_integer},
    {"f64", Accumulate::kDouble, Type::kB64, mma_double},
};
bool result_fits(const MmaResult& result, MmaFamily family) {
  switch (family) {
    case MmaFamily::kF16:
      return result.type == "f32" || result.type == "f16";
    case MmaFamily::kF64:
      return result.type == "f64";
    case MmaFamily::kI8:
    case MmaFamily::kI4:
    case MmaFamily::kB1:
      return result.type == "s32";
    default:
      return result.type == "f32";
  }
}
const MmaResult* result_of(std::string_view type, MmaFamily family) {
  for (const MmaResult& result : kResultTypes) {
    if (result.type == type && result_fits(result, family)) return &result;
  }
  return nullptr;
}

/// The first modifier that is the name of a row, consumed; "" if there is none.
template <auto kName, class Table>
std::string_view take_name_in(Binder& binder, const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(row.*kName);
  const auto found = binder.take_one_of(names);
  return found ? names[*found] : std::string_view{};
}

/// Everything after .mma.
struct MmaModifiers {
  std::string_view shape, d, a, b, c;
  bool saturate = false;
  bool conjunction = false;
};

bool take_modifiers(Binder& binder, MmaModifiers* to) {
  if (!binder.take("sync") || !binder.take("aligned")) {
    return binder.fail("expected .sync.aligned");
  }
  to->shape = take_name_in<&MmaForm::shape>(binder, kForms);
  if (to->shape.empty()) return binder.fail("no form has this shape");
  to->d = take_name_in<&MmaResult::type>(binder, kResultTypes);
  to->a = take_name_in<&Multiplicand::name>(binder, kMultiplicands);
  to->b = take_name_in<&Multiplicand::name>(binder, kMultiplicands);
  to->c = take_name_in<&MmaResult::type>(binder, kResultTypes);
  const auto layout_a = binder.take_one_of({"row", "col"});
  const auto layout_b = binder.take_one_of({"row", "col"});
  if (layout_a != 0u || layout_b != 1u) return binder.fail("expected .row.col");
  to->saturate = binder.take("satfinite");
  if (to->a == "b1") {
    to->conjunction = binder.take("and");
    if (!to->conjunction && !binder.take("xor")) return binder.fail("expected .xor or .and");
    if (!binder.take("popc")) return binder.fail("expected .popc");
  }
  return true;
}

/// Of the registers of a multiplicand.
Type type_of_registers(MmaFamily family) {
  switch (family) {
    case MmaFamily::kF16:
      return Type::kF16x2;
    case MmaFamily::kBf16:
      return Type::kBf16x2;
    case MmaFamily::kTf32:
      return Type::kTf32;
    case MmaFamily::kI8:
      return Type::kU32;
    case MmaFamily::kF64:
      return Type::kB64;
    default:
      return Type::kB32;
  }
}

bool emit_mma(Binder& binder, const MmaResult& result, const MmaPlan& filled) {
  const auto plan = std::make_shared<const MmaPlan>(filled);
  const Type multiplicand = type_of_registers(plan->a->family);
  std::vector<Arg> args;
  if (!binder.expect_operands(4, 4)) return false;
  if (!append_fragment(binder, 0, plan->d_registers, result.register_type, true, &args) ||
      !append_fragment(binder, 1, plan->a_registers, multiplicand, false, &args) ||
      !append_fragment(binder, 2, plan->b_registers, multiplicand, false, &args) ||
      !append_fragment(binder, 3, plan->d_registers, result.register_type, false, &args)) {
    return false;
  }
  binder.own(plan);
  Op& op =
      binder.emit(plan->a->family == MmaFamily::kB1 ? mma_bits : result.run, OpKind::kTensor, {});
  op.immediate = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(plan.get()));
  op.extra = static_cast<std::uint32_t>(result.accumulate);
  binder.more(op, args);
  return binder.finish();
}

}  // namespace

bool append_fragment(Binder& binder, std::size_t index, std::size_t count, ptx::Type type,
                     bool is_destination, std::vector<Arg>* to) {
  const auto items = binder.vector(index, count);
  if (!items) return false;
  for (const ptx::Operand& item : *items) {
    to->push_back(is_destination ? binder.destination(item, type) : binder.source(item, type));
  }
  return !binder.failed();
}

bool bind_mma(Binder& binder) {
  MmaModifiers text;
  if (!take_modifiers(binder, &text)) return false;
  const Multiplicand* a = multiplicand_named(text.a);
  const Multiplicand* b = multiplicand_named(text.b);
  if (a == nullptr || b == nullptr || a->family != b->family) {
    return binder.fail("no form has multiplicands ." + ptx::shown(text.a) + " and ." +
                       ptx::shown(text.b));
  }
  const MmaForm* form = form_of(text.shape, a->family);
  if (form == nullptr) {
    return binder.fail("no form has shape ." + ptx::shown(text.shape) + " for ." +
                       ptx::shown(text.a));
  }
  const MmaResult* result = result_of(text.d, a->family);
  if (result == nullptr || text.c != text.d) {
    return binder.fail("no form has results ." + ptx::shown(text.d) + " and ." +
                       ptx::shown(text.c));
  }
  const bool is_integer = a->family == MmaFamily::kI8 || a->family == MmaFamily::kI4;
  if (text.saturate && !is_integer) return binder.fail(".satfinite is for integers");
  if (!binder.need(form->version, form->sm)) return false;
  if (text.conjunction && !binder.need({7, 1}, 80)) return false;
  const unsigned blocks = form->k / (4 * a->elements);
  const unsigned halves = result->accumulate == Accumulate::kHalf ? 2 : 1;
  const unsigned row_groups = form->rows / 8;
  return emit_mma(binder, *result,
                  {.a = a,
                   .b = b,
                   .rows = form->rows,
                   .k = form->k,
                   .d_registers = row_groups * 2 / halves,
                   .a_registers = blocks * row_groups,
                   .b_registers = blocks,
                   .saturate = text.saturate,
                   .conjunction = text.conjunction});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
