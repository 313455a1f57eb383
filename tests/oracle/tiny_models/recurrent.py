"""Models with recurrent layers: short convolutions, gated delta rules and Mamba 2, alone or with attention."""

import torch
import transformers as t

from .dense import (ATTENTION, EXPERTS, FEED_FORWARD, HALVES, HEAD_NORMS, NORMS, ONE_KV_HEAD, OUTER, SIZES, TIED, UNTIED, common,
                    of_llama, paired_rows, under, without)
from .experts import CORRECTION
from .model import Tiny
from .rules import Rule, less_one, log_of_negative, one_after_another, plain, shaped

# Decays that are neither 0 nor 1.
SCALES = {r"ssm_a$": (0.25, -0.375), r"ssm_dt\.bias": (0.5, -0.25), r"ssm_d$": (1.0, 1.0), r"conv1d\.bias": (0.25, 0.0)}
CHANNELS = lambda shape: (shape[0], shape[2])  # of a convolution, of which transformers has one input each


def lfm2():
    shared = OUTER | ATTENTION | {f"{theirs}.weight": f"{ours}.weight" for theirs, ours in [
        ("model.embedding_norm", "token_embd_norm"), ("operator_norm", "attn_norm"), ("ffn_norm", "ffn_norm"),
        ("self_attn.out_proj", "attn_output"), ("self_attn.q_layernorm", "attn_q_norm"),
        ("self_attn.k_layernorm", "attn_k_norm"), ("conv.in_proj", "shortconv.in_proj"), ("conv.out_proj", "shortconv.out_proj"),
        ("feed_forward.w1", "ffn_gate"), ("feed_forward.w3", "ffn_up"), ("feed_forward.w2", "ffn_down")]} | {
        "conv.conv.weight": shaped("shortconv.conv.weight", CHANNELS)}
    sizes = without(SIZES, "rms_norm_eps", "head_dim") | dict(norm_eps=2.0**-8, conv_L_cache=3)

    def keys(config):
        heads = [0 if kind == "conv" else config.num_key_value_heads for kind in config.layer_types]
        return common(config, kv_heads=heads, norm="norm_eps", head=16) | {"shortconv.l_cache": 3}

    notes = "token_embd_norm is the norm before the output."
    config = t.Lfm2Config(**sizes | TIED | dict(num_hidden_layers=3), layer_types=["conv", "full_attention", "conv"],
                          block_auto_adjust_ff_dim=False)
    yield Tiny("lfm2", "lfm2", config, keys(config), shared, notes=notes)
    config = t.Lfm2Config(**sizes | TIED | ONE_KV_HEAD, layer_types=["full_attention", "conv"], block_auto_adjust_ff_dim=False)
    yield Tiny("lfm2-mqa", "lfm2", config, keys(config), shared, notes=notes)

    experts = under("feed_forward.", EXPERTS) | {"feed_forward.gate.weight": "ffn_gate_inp.weight",
                                                 "feed_forward.expert_bias": "exp_probs_b.bias"}
    for name, settings in [("lfm2moe", {}), ("lfm2moe-mqa", ONE_KV_HEAD)]:
        config = t.Lfm2MoeConfig(**sizes | TIED | settings | dict(num_hidden_layers=3), num_dense_layers=1, num_experts=8,
                                 num_experts_per_tok=3, moe_intermediate_size=32,
                                 layer_types=["conv", "full_attention", "conv"])
        own = {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 32, "leading_dense_block_count": 1,
               "expert_gating_func": 2}
        yield Tiny(name, "lfm2moe", config, keys(config) | own, shared | experts, CORRECTION,
                   notes=notes + " Weights of the chosen experts are divided by their sum + 1e-6.")


def by_key_head(keys, size):
    """Queries, keys, values and gates, which transformers has for each head of keys."""

    def shapes(shape):
        values = shape[0] // 2 - keys * size
        return [(2 * keys * size + values, shape[1]), (values, shape[1])]

    def join(tensors, old):
        both, z = tensors
        q, k, v = both.split([keys * size, keys * size, z.shape[0]])
        return torch.cat([x.reshape(keys, -1, x.shape[-1]) for x in (q, k, v, z)], 1).reshape(old.shape)

    return Rule(("attn_qkv.weight", "attn_gate.weight"), shapes, join)


def untiled(rule, keys, size=1, start=0, dim=0):
    """Heads of values: in files, neighbours have keys of different heads; in transformers, neighbours share one."""

    def join(tensors, old):
        x = rule.join(tensors, old).movedim(dim, 0)
        values = x[start:].reshape(-1, keys, size, *x.shape[1:]).transpose(0, 1).reshape(-1, *x.shape[1:])
        return torch.cat([x[:start], values]).movedim(0, dim).reshape(old.shape)

    return Rule(rule.names, rule.shapes, join)


KEY_HEADS, STATE = 2, 16
DELTA = {"linear_attn.norm.weight": plain("ssm_norm.weight"), "linear_attn.out_proj.weight": plain("ssm_out.weight"),
         "linear_attn.A_log": log_of_negative("ssm_a"), "linear_attn.dt_bias": plain("ssm_dt.bias"),
         "linear_attn.conv1d.weight": shaped("ssm_conv1d.weight", CHANNELS)}
# Of these files have no tiles but heads of values by their head of keys.
GROUPED = DELTA | {"linear_attn.in_proj_qkvz.weight": by_key_head(KEY_HEADS, STATE),
                   "linear_attn.in_proj_ba.weight": "ssm_ba.weight"}
FIRST_VALUE = 2 * KEY_HEADS * STATE
TILED = {name: untiled(rule, KEY_HEADS, *how) for name, rule, *how in [
    ("linear_attn.A_log", DELTA["linear_attn.A_log"]), ("linear_attn.dt_bias", DELTA["linear_attn.dt_bias"]),
    ("linear_attn.in_proj_a.weight", plain("ssm_alpha.weight")), ("linear_attn.in_proj_b.weight", plain("ssm_beta.weight")),
    ("linear_attn.in_proj_z.weight", plain("attn_gate.weight"), STATE),
    ("linear_attn.in_proj_qkv.weight", plain("attn_qkv.weight"), STATE, FIRST_VALUE),
    ("linear_attn.conv1d.weight", DELTA["linear_attn.conv1d.weight"], STATE, FIRST_VALUE),
    ("linear_attn.out_proj.weight", DELTA["linear_attn.out_proj.weight"], STATE, 0, 1)]} | {
    "linear_attn.norm.weight": "ssm_norm.weight"}


def qwen():
    norms = {name: less_one(tensor) for name, tensor in (HEAD_NORMS | {
        "input_layernorm.weight": "attn_norm.weight", "post_attention_layernorm.weight": "post_attention_norm.weight",
        "model.norm.weight": "output_norm.weight"}).items()}
    experts = under("mlp.", EXPERTS) | {"mlp.gate.weight": "ffn_gate_inp.weight",
                                        "mlp.shared_expert_gate.weight": "ffn_gate_inp_shexp.weight"} | {
        f"mlp.shared_expert.{x}_proj.weight": f"ffn_{x}_shexp.weight" for x in ("gate", "up", "down")}
    routed = dict(num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32, shared_expert_intermediate_size=64)
    routed_keys = {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 32,
                   "expert_shared_feed_forward_length": 64}
    sections = {"rope.dimension_sections": [11, 11, 10, 0]}
    grouped = "Heads of values that share a head of keys are neighbours."
    tiled = "Head i of values has head i % group_count of keys (tiles), by the published converters."
    kinds = [("qwen3next", t.Qwen3NextConfig, routed, routed_keys, GROUPED, grouped),
             ("qwen35", t.Qwen3_5TextConfig, {}, sections, TILED, tiled),
             ("qwen35moe", t.Qwen3_5MoeTextConfig, routed, routed_keys | sections, TILED, tiled)]
    for architecture, kind, settings, keys, delta, notes in kinds:
        for name, more, layers, interval in [("untied", UNTIED | dict(linear_num_value_heads=6), 4, 4),
                                             ("tied-mqa", TIED | ONE_KV_HEAD | dict(linear_num_value_heads=4), 2, 2)]:
            config = kind(**SIZES | settings | more | dict(head_dim=32, num_hidden_layers=layers), full_attention_interval=interval,
                          linear_num_key_heads=KEY_HEADS, linear_key_head_dim=STATE, linear_value_head_dim=STATE)
            recurrent = [x == "linear_attention" for x in config.layer_types]
            own = {"ssm.conv_kernel": 4, "ssm.state_size": STATE, "ssm.group_count": KEY_HEADS,
                   "ssm.time_step_rank": config.linear_num_value_heads, "ssm.inner_size": STATE * config.linear_num_value_heads,
                   "attention.recurrent_layers": recurrent, "full_attention_interval": interval, "rope.dimension_count": 8}
            yield Tiny(f"{architecture}-{name}", architecture, config, without(common(config) | own | keys, *(
                ["feed_forward_length"] if not hasattr(config, "intermediate_size") else [])),
                       HALVES | experts | norms | delta, SCALES, notes=notes)


def mixer(prefix, groups):
    """Mamba 2. The norm is a row for each group in files."""
    of_head = lambda shape: (shape[0], 1)
    return under(prefix, {
        "A_log": log_of_negative("ssm_a", of_head), "D": shaped("ssm_d", of_head), "dt_bias": "ssm_dt.bias",
        "conv1d.weight": shaped("ssm_conv1d.weight", CHANNELS), "conv1d.bias": "ssm_conv1d.bias", "in_proj.weight": "ssm_in.weight",
        "norm.weight": shaped("ssm_norm.weight", lambda shape: (groups, shape[0] // groups)), "out_proj.weight": "ssm_out.weight"})


def ssm_keys(groups):
    return {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.time_step_rank": 8, "ssm.group_count": groups}


def mamba2():
    rules = {"backbone.embeddings.weight": "token_embd.weight", "backbone.norm_f.weight": "output_norm.weight",
             "lm_head.weight": "output.weight", "norm.weight": "attn_norm.weight"}
    for name, settings, groups in [("mamba2-untied", UNTIED, 1), ("mamba2-tied-groups", TIED, 2)]:
        config = t.Mamba2Config(vocab_size=48, hidden_size=64, num_hidden_layers=3, num_heads=8, head_dim=16, state_size=16,
                                n_groups=groups, layer_norm_epsilon=2.0**-8, chunk_size=16, pad_token_id=None, bos_token_id=None,
                                eos_token_id=None, **settings)
        keys = {"block_count": 3, "context_length": 1 << 20, "embedding_length": 64, "feed_forward_length": 0,
                "attention.head_count": 0, "attention.layer_norm_rms_epsilon": 2.0**-8}
        yield Tiny(name, "mamba2", config, keys | ssm_keys(groups), rules | mixer("mixer.", groups), SCALES)


MAMBA = dict(mamba_n_heads=8, mamba_d_head=16, mamba_d_state=16, mamba_chunk_size=16)


def granitehybrid():
    factors = dict(attention_multiplier=0.125, embedding_multiplier=4.0, residual_multiplier=0.5, logits_scaling=2.0)
    factor_keys = {"attention.scale": 0.125, "embedding_scale": 4.0, "residual_scale": 0.5, "logit_scale": 2.0}
    shared = OUTER | ATTENTION | NORMS | paired_rows(16)
    layers = dict(num_hidden_layers=3, layer_types=["linear_attention", "full_attention", "linear_attention"])
    experts = under("block_sparse_moe.", EXPERTS) | {
        "block_sparse_moe.router.weight": "ffn_gate_inp.weight", "shared_mlp.output_linear.weight": "ffn_down_shexp.weight",
        "shared_mlp.input_linear.weight": one_after_another("ffn_gate_shexp.weight", "ffn_up_shexp.weight")}
    dense = {"shared_mlp.output_linear.weight": "ffn_down.weight",
             "shared_mlp.input_linear.weight": one_after_another("ffn_gate.weight", "ffn_up.weight")}
    variants = [
        ("granitehybrid-experts-untied", UNTIED | dict(num_local_experts=8, num_experts_per_tok=3, shared_intermediate_size=64),
         1, experts, {"expert_count": 8, "expert_used_count": 3, "expert_shared_feed_forward_length": 64},
         "rope.scaling.finetuned = false: attention is without rope."),
        ("granitehybrid-dense-rope-tied-mqa", TIED | ONE_KV_HEAD | dict(
            num_local_experts=0, shared_intermediate_size=96, position_embedding_type="rope"), 2, dense, {},
         "rope.scaling.finetuned = true: attention has rope.")]
    for name, settings, groups, rules, keys, notes in variants:
        config = t.GraniteMoeHybridConfig(**SIZES | settings | factors | layers | MAMBA, mamba_n_groups=groups)
        rope = config.position_embedding_type == "rope"
        own = {"attention.head_count_kv": [0, config.num_key_value_heads, 0], "rope.scaling.finetuned": rope}
        yield Tiny(name, "granitehybrid", config,
                   of_llama(config, head=0) | own | factor_keys | ssm_keys(groups) | keys,
                   shared | rules | mixer("mamba.", groups), SCALES, notes=notes)


def falcon_h1():
    names = {"model.final_layernorm.weight": "output_norm.weight", "input_layernorm.weight": "attn_norm.weight",
             "pre_ff_layernorm.weight": "ffn_norm"}
    feed_forward = {f"feed_forward.{x}_proj.weight": f"ffn_{x}.weight" for x in ("gate", "up", "down")}
    for name, settings, groups in [("falcon-h1-untied", UNTIED, 1),
                                   ("falcon-h1-norm-groups-mqa", UNTIED | ONE_KV_HEAD | dict(mamba_rms_norm=True), 2)]:
        config = t.FalconH1Config(**SIZES | settings | MAMBA, mamba_n_groups=groups, mamba_d_ssm=128, mamba_norm_before_gate=False)
        yield Tiny(name, "falcon-h1", config, common(config) | ssm_keys(groups),
                   OUTER | ATTENTION | names | feed_forward | mixer("mamba.", groups), SCALES,
                   notes="Factors of embeddings, logits and others are 1, as converters multiply them into weights.")


def models():
    for family in (lfm2, qwen, mamba2, granitehybrid, falcon_h1):
        yield from family()
