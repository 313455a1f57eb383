"""The family of Gemma. Files hold 1 + w of most norms."""

import transformers as t

from .dense import ATTENTION, FEED_FORWARD, ONE_KV_HEAD, OUTER, SIZES, TIED, WINDOW, common
from .model import Tiny
from .rules import divisor, less_one

NORMS = {f"{theirs}.weight": f"{ours}.weight" for theirs, ours in [
    ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "post_attention_norm"),
    ("pre_feedforward_layernorm", "ffn_norm"), ("post_feedforward_layernorm", "post_ffw_norm"),
    ("self_attn.q_norm", "attn_q_norm"), ("self_attn.k_norm", "attn_k_norm"), ("model.norm", "output_norm")]}
RULES = OUTER | ATTENTION | FEED_FORWARD | NORMS
ONE_MORE = {name: less_one(tensor) for name, tensor in NORMS.items()}
# Embeddings are multiplied by the root of the width.
SCALES = {r"token_embd\.weight": (0.25, 0.0)}


def gemma2():
    for name, settings in [("gemma2", {}), ("gemma2-mqa", ONE_KV_HEAD | dict(head_dim=32))]:
        config = t.Gemma2Config(**SIZES | TIED | settings | WINDOW, attn_logit_softcapping=4.0, final_logit_softcapping=2.0)
        config.query_pre_attn_scalar = config.head_dim
        keys = {"attn_logit_softcapping": 4.0, "final_logit_softcapping": 2.0, "attention.sliding_window": 8}
        yield Tiny(name, "gemma2", config, common(config, rope=False) | keys, RULES | ONE_MORE, SCALES,
                   matters={"attn_logit_softcapping": None, "final_logit_softcapping": None, "sliding_window": 16},
                   notes="Layers 0, 2, ... have the window. Queries are scaled by the root of the head's size. No key says so.")


def gemma3():
    for name, settings, scaling in [("gemma3", ONE_KV_HEAD, {}), ("gemma3-linear", {}, dict(rope_type="linear", factor=4.0))]:
        ropes = {"full_attention": dict(rope_type="default", rope_theta=1000000.0) | scaling,
                 "sliding_attention": dict(rope_type="default", rope_theta=10000.0)}
        config = t.Gemma3TextConfig(**SIZES | TIED | settings | WINDOW | dict(num_hidden_layers=6), rope_parameters=ropes,
                                    query_pre_attn_scalar=16)
        keys = {"rope.freq_base": 1000000.0, "rope.freq_base_swa": 10000.0, "attention.sliding_window": 8}
        if scaling:
            keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
        yield Tiny(name, "gemma3", config, common(config, rope=False) | keys, RULES | ONE_MORE, SCALES,
                   matters={"sliding_window": 16, "rope_parameters": ropes | {"full_attention": dict(
                       rope_type="default", rope_theta=10000.0)}},
                   notes="Every sixth layer is without window. No key says so. Rope is scaled in these only.")


def gemma4():
    rules = RULES | {"model.rotary_emb.full_attention_inv_freq": divisor("rope_freqs.weight"),
                     "experts.gate_up_proj": "ffn_gate_up_exps.weight", "experts.down_proj": "ffn_down_exps.weight",
                     "router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale",
                     "layer_scalar": "layer_output_scale.weight"}
    rules |= {f"{theirs}.weight": f"{ours}.weight" for theirs, ours in [
        ("model.embed_tokens_per_layer", "per_layer_token_embd"), ("model.per_layer_model_projection", "per_layer_model_proj"),
        ("model.per_layer_projection_norm", "per_layer_proj_norm"), ("per_layer_input_gate", "inp_gate"),
        ("per_layer_projection", "proj"), ("post_per_layer_input_norm", "post_norm"), ("router.proj", "ffn_gate_inp"),
        ("post_feedforward_layernorm_1", "post_ffw_norm_1"), ("post_feedforward_layernorm_2", "post_ffw_norm_2"),
        ("pre_feedforward_layernorm_2", "pre_ffw_norm_2")]}
    scales = SCALES | {r"attn_q_norm": (0.25, 0.5), r"attn_k_norm": (0.25, 1.0), r"layer_output_scale": (0.25, 1.0),
                       r"per_layer_token_embd": (0.25, 0.0), r"ffn_gate_inp\.scale": (2.0, 6.0), r"ffn_down_exps\.scale": (0.5, 1.0)}
    ropes = {"full_attention": dict(rope_type="proportional", rope_theta=1000000.0, partial_rotary_factor=1.0),
             "sliding_attention": dict(rope_type="default", rope_theta=10000.0)}
    plain = dict(num_hidden_layers=4, hidden_size_per_layer_input=0)
    variants = [
        ("gemma4-mqa", "SSSF", ONE_KV_HEAD | plain, {}, ""),
        ("gemma4-per-layer-shared-kv", "SSFSF", dict(
            num_hidden_layers=5, hidden_size_per_layer_input=32, vocab_size_per_layer_input=48, num_kv_shared_layers=2,
            use_double_wide_mlp=True, final_logit_softcapping=2.0),
         {"feed_forward_length": [96, 96, 96, 192, 192], "final_logit_softcapping": 2.0},
         "The last two layers have no keys and values of their own, and none of their tensors."),
        ("gemma4-experts-k-as-v", "SSSF", plain | dict(
            attention_k_eq_v=True, num_global_key_value_heads=1, enable_moe_block=True, num_experts=8, top_k_experts=2,
            moe_intermediate_size=32),
         {"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 32},
         "The layer without attn_v has values from its keys, before their norm and rope."),
    ]
    for name, kinds, settings, keys, notes in variants:
        config = t.Gemma4TextConfig(**SIZES | TIED | settings | WINDOW, global_head_dim=32, rope_parameters=ropes, layer_types=[
            "sliding_attention" if kind == "S" else "full_attention" for kind in kinds])
        own = {"attention.key_length": 32, "attention.value_length": 32, "attention.key_length_swa": 16,
               "attention.value_length_swa": 16, "rope.dimension_count": 32, "rope.dimension_count_swa": 16,
               "rope.freq_base": 1000000.0, "rope.freq_base_swa": 10000.0, "attention.sliding_window": 8,
               "attention.sliding_window_pattern": [kind == "S" for kind in kinds],
               "attention.shared_kv_layers": config.num_kv_shared_layers,
               "embedding_length_per_layer_input": config.hidden_size_per_layer_input}
        heads = [2, 2, 2, 1] if config.attention_k_eq_v else config.num_key_value_heads
        yield Tiny(name, "gemma4", config, common(config, rope=False, head=0, kv_heads=heads) | own | keys, rules, scales,
                   matters={"sliding_window": 16}, idle=f"blk.{len(kinds) - 1}.layer_output_scale",  # undone by the last norm
                   notes=(notes + " rope_freqs divides frequencies of layers without window only;"
                                                          " its values are random here.").strip())


def models():
    yield from gemma2()
    yield from gemma3()
    yield from gemma4()
