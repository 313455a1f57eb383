#include "ops/list.h"

#include <array>

#include "shunt/ops.h"

namespace shunt {

namespace {

// One line an op, families in alphabetical order.
constexpr std::array kOps = {
    silu_op,
    swiglu_op,
    attention_op,
    rope_op,
    softmax_op,
    cont_op,
    cpy_op,
    add_op,
    mul_op,
    scale_op,
    matmul_op,
    rms_norm_op,
    argmax_op,
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
    opt_step_adamw_op,
    opt_step_sgd_op,
    out_prod_op,
    repeat_back_op,
    rms_norm_back_op,
    rope_back_op,
    silu_back_op,
    softmax_back_op,
    update_moment_op,
    permute_op,
    reshape_op,
    transpose_op,
    view_op,
};

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
