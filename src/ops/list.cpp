#include "ops/list.h"

#include <array>

#include "shunt/ops.h"

namespace shunt {

namespace {

// One line an op, families in alphabetical order.
// clang-format off
constexpr std::array kOps = {
    geglu_op,
    geglu_erf_op,
    geglu_quick_op,
    reglu_op,
    swiglu_op,
    swiglu_oai_op,
    attention_op,
    paged_attention_op,
    rope_op,
    softmax_op,
    col2im_1d_op,
    conv_2d_op,
    conv_2d_dw_op,
    conv_3d_op,
    conv_transpose_1d_op,
    conv_transpose_2d_op,
    im2col_op,
    im2col_3d_op,
    pool_1d_op,
    pool_2d_op,
    custom_op,
    arange_op,
    concat_op,
    cont_op,
    cpy_op,
    diag_op,
    diag_mask_inf_op,
    dup_op,
    fill_op,
    pad_op,
    pad_reflect_1d_op,
    repeat_op,
    roll_op,
    set_op,
    timestep_embedding_op,
    tri_op,
    upscale_op,
    add_op,
    add1_op,
    add_id_op,
    div_op,
    mul_op,
    scale_op,
    sub_op,
    matmul_op,
    matmul_id_op,
    solve_tri_op,
    group_norm_op,
    l2_norm_op,
    norm_op,
    rms_norm_op,
    argmax_op,
    argsort_op,
    top_k_op,
    cumsum_op,
    mean_op,
    sum_op,
    sum_rows_op,
    get_rows_op,
    set_rows_op,
    gated_delta_net_op,
    gated_linear_attn_op,
    rwkv_wkv6_op,
    rwkv_wkv7_op,
    ssm_conv_op,
    ssm_scan_op,
    acc_op,
    count_equal_op,
    cross_entropy_loss_op,
    cross_entropy_loss_back_op,
    get_rows_back_op,
    im2col_back_op,
    opt_step_adamw_op,
    opt_step_sgd_op,
    out_prod_op,
    repeat_back_op,
    rms_norm_back_op,
    rope_back_op,
    silu_back_op,
    softmax_back_op,
    update_moment_op,
    abs_op,
    ceil_op,
    clamp_op,
    cos_op,
    elu_op,
    exp_op,
    expm1_op,
    floor_op,
    gelu_op,
    gelu_erf_op,
    gelu_quick_op,
    hardsigmoid_op,
    hardswish_op,
    leaky_relu_op,
    log_op,
    neg_op,
    relu_op,
    round_op,
    sgn_op,
    sigmoid_op,
    silu_op,
    sin_op,
    softplus_op,
    sqr_op,
    sqrt_op,
    step_op,
    tanh_op,
    trunc_op,
    xielu_op,
    permute_op,
    reshape_op,
    transpose_op,
    view_op,
};
// clang-format on

}  // namespace

std::span<const Op* const> all_ops() {
  static const auto kAll = [] {
    std::array<const Op*, kOps.size()> all = {};
    for (std::size_t i = 0; i < kOps.size(); ++i) all[i] = &kOps[i]();
    return all;
  }();
  return kAll;
}

const Op* find_op(std::string_view name) {
  for (const Op* op : all_ops()) {
    if (op->info().name == name) return op;
  }
  return nullptr;
}

}  // namespace shunt
