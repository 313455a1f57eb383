#include "oracle/params.h"

#include <limits>
#include <map>
#include <stdexcept>
#include <type_traits>

#include "shunt/ops.h"

namespace shunt::test {

namespace {

using nlohmann::json;

/// How many values an enumeration has, from 0 on.
template <class E>
constexpr int kValues = 0;
template <>
constexpr int kValues<AttentionSpan> = 5;
template <>
constexpr int kValues<GateHalf> = 2;
template <>
constexpr int kValues<Interpolation> = 3;
template <>
constexpr int kValues<Padding> = 2;
template <>
constexpr int kValues<Triangle> = 2;
template <>
constexpr int kValues<Pooling> = 2;
template <>
constexpr int kValues<RopeMode> = 4;
template <>
constexpr int kValues<SortOrder> = 2;

template <class T>
void assign(T& field, const json& value);

template <class E>
E named(const std::string& name) {
  for (int i = 0; i < kValues<E>; ++i) {
    if (to_string(static_cast<E>(i)) == name) return static_cast<E>(i);
  }
  throw std::runtime_error("no value is named " + name);
}

template <class T>
void assign(T& field, const json& value) {
  if constexpr (std::is_same_v<T, DType>) {
    const auto type = dtype_from_name(value.get<std::string>());
    if (!type) throw std::runtime_error(type.error().message());
    field = *type;
  } else if constexpr (std::is_enum_v<T>) {
    field = named<T>(value.get<std::string>());
  } else if constexpr (std::is_same_v<T, Dim>) {
    field = Dim(value.get<std::int64_t>());
  } else if constexpr (std::is_arithmetic_v<T>) {
    field = value.get<T>();
  } else {
    if (field.size() != value.size()) throw std::runtime_error(value.dump() + " has another size");
    for (std::size_t i = 0; i < field.size(); ++i) assign(field[i], value[i]);
  }
}

template <class P>
Params read(const json& named) {
  P params;
  std::size_t found = 0;
  params.each([&](const char* name, const auto& field) {
    if (!named.contains(name)) return;
    ++found;
    // each() shows fields of a struct that is ours.
    assign(const_cast<std::remove_cvref_t<decltype(field)>&>(field), named[name]);
  });
  if (found != named.size()) throw std::runtime_error("not all are parameters: " + named.dump());
  return Params::of(std::move(params));
}

const std::map<std::string_view, Params (*)(const json&)>& readers() {
  static const std::map<std::string_view, Params (*)(const json&)> kReaders = {
      {"arange", read<ArangeParams>},
      {"argsort", read<ArgsortParams>},
      {"attention", read<AttentionParams>},
      {"clamp", read<ClampParams>},
      {"col2im_1d", read<Col2im1dParams>},
      {"concat", read<ConcatParams>},
      {"conv_2d", read<Conv2dParams>},
      {"conv_2d_dw", read<Conv2dParams>},
      {"conv_3d", read<Conv3dParams>},
      {"conv_transpose_1d", read<Conv1dParams>},
      {"conv_transpose_2d", read<Conv2dParams>},
      {"diag_mask_inf", read<DiagMaskInfParams>},
      {"fill", read<FillParams>},
      {"gated_delta_net", read<GatedDeltaNetParams>},
      {"gated_linear_attn", read<GatedLinearAttnParams>},
      {"geglu", read<GatedParams>},
      {"geglu_erf", read<GatedParams>},
      {"geglu_quick", read<GatedParams>},
      {"get_rows_back", read<GetRowsBackParams>},
      {"group_norm", read<GroupNormParams>},
      {"im2col", read<Im2colParams>},
      {"im2col_3d", read<Im2col3dParams>},
      {"im2col_back", read<Im2colBackParams>},
      {"l2_norm", read<L2NormParams>},
      {"leaky_relu", read<LeakyReluParams>},
      {"norm", read<NormParams>},
      {"opt_step_adamw", read<AdamwParams>},
      {"opt_step_sgd", read<SgdParams>},
      {"pad", read<PadParams>},
      {"pad_reflect_1d", read<PadReflectParams>},
      {"paged_attention", read<PagedAttentionParams>},
      {"permute", read<PermuteParams>},
      {"pool_1d", read<Pool1dParams>},
      {"pool_2d", read<Pool2dParams>},
      {"reglu", read<GatedParams>},
      {"repeat", read<RepeatParams>},
      {"repeat_back", read<RepeatBackParams>},
      {"reshape", read<ReshapeParams>},
      {"rms_norm", read<RmsNormParams>},
      {"rms_norm_back", read<RmsNormParams>},
      {"roll", read<RollParams>},
      {"rope", read<RopeParams>},
      {"rope_back", read<RopeParams>},
      {"scale", read<ScaleParams>},
      {"set", read<SetParams>},
      {"softmax", read<SoftmaxParams>},
      {"softmax_back", read<SoftmaxParams>},
      {"solve_tri", read<SolveTriParams>},
      {"swiglu", read<GatedParams>},
      {"swiglu_oai", read<SwigluOaiParams>},
      {"timestep_embedding", read<TimestepEmbeddingParams>},
      {"top_k", read<TopKParams>},
      {"tri", read<TriParams>},
      {"update_moment", read<UpdateMomentParams>},
      {"upscale", read<UpscaleParams>},
      {"view", read<ViewParams>},
      {"xielu", read<XieluParams>},
  };
  return kReaders;
}

}  // namespace

bool has_params(std::string_view op) {
  return readers().contains(op);
}

Params params_of(std::string_view op, const json& named) {
  const auto reader = readers().find(op);
  return reader == readers().end() ? read<NoParams>(named) : reader->second(named);
}

}  // namespace shunt::test
