"""Decoders with experts, whose routers or attention are their own."""

import torch
import transformers as t

from .dense import (ATTENTION, EXPERTS, FEED_FORWARD, HALVES, HEAD_NORMS, NORMS, ONE_KV_HEAD, OUTER, SIZES, TIED, UNTIED, WINDOW,
                    YARN, common, of_llama, under, without, yarn_keys)
from .model import Tiny
from .rules import Rule, one_after_another

EIGHT = {"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 32}
ROUTER = {"mlp.gate.weight": "ffn_gate_inp.weight", "mlp.gate.e_score_correction_bias": "exp_probs_b.bias",
          "mlp.e_score_correction_bias": "exp_probs_b.bias"}
SHARED = {f"{block}.{part}_proj.weight": f"ffn_{part}_shexp.weight" for block in ("mlp.shared_experts", "mlp.shared_expert")
          for part in ("gate", "up", "down")}
CORRECTION = {r"exp_probs_b": (0.25, 0.0)}


def by_turns(gate, up, transposed):
    """Rows of gate and up take turns in transformers."""

    def shapes(shape):
        one = (shape[0], shape[2] // 2, shape[1]) if transposed else (shape[0], shape[1] // 2)
        return [one, one]

    def join(tensors, old):
        both = torch.stack(tensors, 2).reshape(old.shape[0], -1, *tensors[0].shape[2:])
        return both.transpose(1, 2) if transposed else both

    return Rule((gate, up), shapes, join)


def transposed(*names):
    """Of each expert. Several are one after another in transformers."""

    def shapes(shape):
        return [(shape[0], shape[2] // len(names), shape[1])] * len(names)

    return Rule(names, shapes, lambda tensors, _: torch.cat(tensors, 1).transpose(1, 2))


def gpt_oss():
    rules = OUTER | ATTENTION | NORMS | {
        "post_attention_layernorm.weight": "post_attention_norm.weight", "self_attn.sinks": "attn_sinks.weight",
        "mlp.router.weight": "ffn_gate_inp.weight", "mlp.router.bias": "ffn_gate_inp.bias",
        "mlp.experts.gate_up_proj": by_turns("ffn_gate_exps.weight", "ffn_up_exps.weight", True),
        "mlp.experts.gate_up_proj_bias": by_turns("ffn_gate_exps.bias", "ffn_up_exps.bias", False),
        "mlp.experts.down_proj": transposed("ffn_down_exps.weight"),
        "mlp.experts.down_proj_bias": "ffn_down_exps.bias"}
    rope = dict(rope_theta=150000.0, truncate=False) | YARN
    for name, settings in [("gpt-oss", {}), ("gpt-oss-mqa", ONE_KV_HEAD)]:
        config = t.GptOssConfig(**SIZES | UNTIED | WINDOW | settings | dict(max_position_embeddings=128), num_local_experts=6,
                                num_experts_per_tok=3, rope_parameters=rope)
        keys = {"attention.sliding_window": 8, "expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 96}
        yield Tiny(name, "gpt-oss", config, common(config) | yarn_keys(rope) | keys, rules,
                   # So large that the limit of 7 matters.
                   scales={r"ffn_(gate|up)_exps\.weight": (1.0, 0.0), r"ffn_down_exps\.weight": (0.03125, 0.0),
                           r"attn_sinks": (2.0, 1.0)},
                   matters={"sliding_window": 16, "swiglu_limit": 100.0, "rope_parameters": rope | {"truncate": True}},
                   notes="Layers 0, 2, ... have the window. yarn's range is not rounded to whole pairs. No key says so.")


def qwen2moe():
    rules = HALVES | under("mlp.", EXPERTS) | ROUTER | SHARED | {"mlp.shared_expert_gate.weight": "ffn_gate_inp_shexp.weight"}
    for name, settings in [("qwen2moe-untied", UNTIED), ("qwen2moe-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.Qwen2MoeConfig(**SIZES | settings, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32,
                                  shared_expert_intermediate_size=64)
        keys = common(config) | EIGHT | {"expert_shared_feed_forward_length": 64}
        yield Tiny(name, "qwen2moe", config, keys, rules, matters={"norm_topk_prob": True},
                   notes="Weights of the chosen experts are not divided by their sum.")


def routed(config, groups=True):
    """Keys of DeepSeek's way to choose experts."""
    keys = EIGHT | {"expert_count": config.n_routed_experts, "expert_used_count": config.num_experts_per_tok,
                    "expert_shared_count": config.n_shared_experts, "expert_weights_scale": config.routed_scaling_factor,
                    "leading_dense_block_count": 1}
    if groups:
        keys |= {"expert_group_count": config.n_group, "expert_group_used_count": config.topk_group}
    return keys


CHOICE = dict(n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=32)
GROUPS = dict(n_routed_experts=12, num_experts_per_tok=3, n_group=3, topk_group=2)


def glm4moe():
    rules = HALVES | HEAD_NORMS | under("mlp.", EXPERTS) | ROUTER | SHARED | {
        "post_attention_layernorm.weight": "post_attention_norm.weight"}
    variants = [
        ("glm4moe-norms", UNTIED | dict(use_qk_norm=True, n_group=1, topk_group=1, n_shared_experts=1), 0),
        ("glm4moe-groups-biases-mqa", TIED | ONE_KV_HEAD | GROUPS | dict(
            attention_bias=True, n_shared_experts=2, norm_topk_prob=False), 1)]
    for name, settings, unused in variants:
        config = t.Glm4MoeConfig(**SIZES | CHOICE | settings | dict(num_hidden_layers=3), first_k_dense_replace=1,
                                 routed_scaling_factor=1.5, rope_parameters=dict(
                                     rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))
        keys = common(config) | routed(config) | {"rope.dimension_count": 8, "expert_gating_func": 2,
                                                  "expert_weights_norm": config.norm_topk_prob}
        notes = ""
        if unused:
            keys |= {"block_count": 3 + unused, "nextn_predict_layers": unused}
            notes = "block_count includes a layer that predicts further tokens. It is not run, and its tensors are not here."
        yield Tiny(name, "glm4moe", config, keys, rules, CORRECTION, notes=notes,
                   matters={"topk_group": 3} if config.n_group > 1 else {})


def latent(nope, values):
    """Keys and values from few numbers: a matrix for each head."""

    def shapes(shape):
        heads = shape[0] // (nope + values)
        return [(heads, shape[1], nope), (heads, values, shape[1])]

    return Rule(("attn_k_b.weight", "attn_v_b.weight"), shapes,
                lambda tensors, old: torch.cat([tensors[0].transpose(1, 2), tensors[1]], 1).reshape(old.shape))


def deepseek2():
    attention = {f"self_attn.{theirs}.weight": f"{ours}.weight" for theirs, ours in [
        ("q_proj", "attn_q"), ("q_a_proj", "attn_q_a"), ("q_a_layernorm", "attn_q_a_norm"), ("q_b_proj", "attn_q_b"),
        ("kv_a_proj_with_mqa", "attn_kv_a_mqa"), ("kv_a_layernorm", "attn_kv_a_norm"), ("o_proj", "attn_output")]}
    rules = OUTER | NORMS | FEED_FORWARD | attention | under("mlp.", EXPERTS) | ROUTER | SHARED | {
        "self_attn.kv_b_proj.weight": latent(32, 32)}
    sizes = without(SIZES, "head_dim") | CHOICE | dict(
        num_key_value_heads=4, kv_lora_rank=64, qk_nope_head_dim=32, qk_rope_head_dim=8, v_head_dim=32, num_hidden_layers=3,
        rms_norm_eps=1e-6, max_position_embeddings=128)
    scales = CORRECTION | {r"attn_q_b\.weight": (0.5, 0.0), r"attn_kv_a_mqa\.weight": (0.5, 0.0)}

    def tiny(name, kind, keys=None, notes="", q_lora=32, matters=None, groups=True, norm=False, **settings):
        if kind is not t.Glm4MoeLiteConfig:
            settings["first_k_dense_replace"] = 1
        config = kind(**sizes | UNTIED | settings, q_lora_rank=q_lora)
        own = {"vocab_size": 48, "attention.head_count_kv": 1, "rope.dimension_count": 8, "attention.key_length": 64 + 8,
               "attention.value_length": 64, "attention.key_length_mla": 32 + 8, "attention.value_length_mla": 32,
               "attention.kv_lora_rank": 64}
        if q_lora:
            own["attention.q_lora_rank"] = q_lora
        if norm:
            own["expert_weights_norm"] = True
        rope = config.rope_parameters
        if rope["rope_type"] == "yarn":
            own |= yarn_keys(rope)
            if rope.get("mscale_all_dim"):
                own["rope.scaling.yarn_log_multiplier"] = 0.1 * rope["mscale_all_dim"]
        return Tiny(name, "deepseek2", config, common(config, head=0) | own | routed(config, groups) | (keys or {}), rules,
                    scales, notes=notes, matters=matters or {})

    def yarn(**more):
        return dict(rope_parameters=dict(rope_theta=10000.0) | YARN | more)

    yield tiny("deepseek2-lite", t.DeepseekV2Config, q_lora=None, groups=False, topk_method="greedy", n_shared_experts=2,
               routed_scaling_factor=1.0)
    yield tiny("deepseek2-v2-groups", t.DeepseekV2Config, topk_method="group_limited_greedy", **GROUPS,
               n_shared_experts=2, routed_scaling_factor=4.0, **yarn(mscale=0.75, mscale_all_dim=0.75),
               matters={"topk_method": "greedy"},
               notes="A group counts as its best expert, as scores are probabilities. yarn_log_multiplier is 0.1 mscale_all_dim,"
               " and mscale equals mscale_all_dim: cos and sin are not scaled, but scores are.")
    yield tiny("deepseek2-v3-groups", t.DeepseekV3Config, {"expert_gating_func": 2}, norm=True, **GROUPS,
               n_shared_experts=1, routed_scaling_factor=2.5, **yarn(mscale=1.0, mscale_all_dim=1.0),
               matters={"topk_group": 3},
               notes="A group counts as the sum of its two best experts. yarn_log_multiplier is 0.1 mscale_all_dim.")
    yield tiny("deepseek2-v3-no-mscale", t.DeepseekV3Config, {"expert_gating_func": 2}, norm=True, groups=False, n_group=1,
               topk_group=1, n_shared_experts=1, routed_scaling_factor=2.5, **TIED, **yarn(),
               notes="Without yarn_log_multiplier, cos and sin are scaled by 0.1 ln(factor) + 1.")
    yield tiny("deepseek2-glm-lite", t.Glm4MoeLiteConfig, norm=True, n_group=1, topk_group=1, n_shared_experts=1,
               routed_scaling_factor=1.75,
               notes="As GLM 4.7 Flash. The router has sigmoids, as exp_probs_b is there; no key says so.")


def minimax():
    rules = HALVES | HEAD_NORMS | under("mlp.", EXPERTS) | ROUTER
    for name, settings in [("minimax-m2", UNTIED), ("minimax-m2-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.MiniMaxM2Config(**SIZES | settings, num_local_experts=8, num_experts_per_tok=3, rotary_dim=8)
        keys = {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 96, "rope.dimension_count": 8}
        yield Tiny(name, "minimax-m2", config, common(config) | keys, rules, CORRECTION,
                   notes="The router has sigmoids. Weights of the chosen experts are divided by their sum. No key says so.")


def llama4():
    rules = HALVES | {f"feed_forward.{x}_proj.weight": f"ffn_{x}.weight" for x in ("gate", "up", "down")} | {
        f"feed_forward.shared_expert.{x}_proj.weight": f"ffn_{x}_shexp.weight" for x in ("gate", "up", "down")} | {
        "feed_forward.experts.gate_up_proj": transposed("ffn_gate_exps.weight", "ffn_up_exps.weight"),
        "feed_forward.experts.down_proj": transposed("ffn_down_exps.weight"),
        "feed_forward.router.weight": "ffn_gate_inp.weight"}

    def tiny(name, keys=None, matters=None, notes="", **settings):
        config = t.Llama4TextConfig(**SIZES | settings | dict(num_hidden_layers=4, intermediate_size=32),
                                    num_experts_per_tok=1, intermediate_size_mlp=96)
        own = {"feed_forward_length": 96, "expert_feed_forward_length": 32, "expert_count": config.num_local_experts,
               "expert_used_count": 1, "interleave_moe_layer_step": config.interleave_moe_layer_step}
        return Tiny(name, "llama4", config, of_llama(config) | own | (keys or {}), rules, matters=matters or {},
                    notes="Every fourth layer is without rope and chunks. " + notes)

    yield tiny("llama4-scout", **UNTIED, num_local_experts=4,
               notes="Chunks of 8192 and temperatures from 8192 on don't matter to 40 tokens.")
    yield tiny("llama4-small", {"attention.chunk_size": 8, "attention.temperature_length": 4, "attention.temperature_scale": 0.5},
               **UNTIED, **ONE_KV_HEAD, num_local_experts=4, attention_chunk_size=8, floor_scale=4, attn_scale=0.5,
               matters={"attention_chunk_size": 16, "attn_temperature_tuning": False, "use_qk_norm": False},
               notes="Files don't have the keys of chunks and temperature, whose values are 8192, 8192 and 0.1.")
    yield tiny("llama4-maverick", **TIED, num_local_experts=128, interleave_moe_layer_step=2, use_qk_norm=False,
               matters={"use_qk_norm": True},
               notes="As Maverick, which has 128 experts, queries and keys are not normed. No key says so.")


def models():
    for family in (gpt_oss, qwen2moe, glm4moe, deepseek2, minimax, llama4):
        yield from family()
