"""Decoders with attention and a feed-forward in each layer, and those that differ from them by experts only."""

import math

import transformers as t

from .model import Tiny
from .rules import divisor, one_after_another, paired

# Sizes that are read wrongly if two are mixed up.
SIZES = dict(vocab_size=48, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, max_position_embeddings=512, rms_norm_eps=2.0**-8,
             pad_token_id=None, bos_token_id=None, eos_token_id=None)
UNTIED, TIED = dict(tie_word_embeddings=False), dict(tie_word_embeddings=True)
ONE_KV_HEAD = dict(num_key_value_heads=1)
WINDOW = dict(sliding_window=8)

OUTER = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
         "lm_head.weight": "output.weight"}
ATTENTION = {f"self_attn.{theirs}_proj.{kind}": f"attn_{ours}.{kind}"
             for theirs, ours in [("q", "q"), ("k", "k"), ("v", "v"), ("o", "output")] for kind in ("weight", "bias")}
FEED_FORWARD = {f"mlp.{part}_proj.weight": f"ffn_{part}.weight" for part in ("gate", "up", "down")}
NORMS = {"input_layernorm.weight": "attn_norm.weight", "post_attention_layernorm.weight": "ffn_norm.weight"}
HEAD_NORMS = {"self_attn.q_norm.weight": "attn_q_norm.weight", "self_attn.k_norm.weight": "attn_k_norm.weight"}
# Norms of a sublayer's results, without one of what goes in.
LATE_NORMS = {"post_attention_layernorm.weight": "post_attention_norm.weight",
              "post_feedforward_layernorm.weight": "post_ffw_norm.weight"}
HALVES = OUTER | ATTENTION | FEED_FORWARD | NORMS
EXPERTS = {"experts.gate_up_proj": one_after_another("ffn_gate_exps.weight", "ffn_up_exps.weight", dim=1),
           "experts.down_proj": "ffn_down_exps.weight"}


def under(prefix, rules):
    return {prefix + name: rule for name, rule in rules.items()}


def without(settings, *names):
    return {name: x for name, x in settings.items() if name not in names}


def paired_rows(head):
    return {f"self_attn.{x}_proj.weight": paired(f"attn_{x}.weight", head) for x in "qk"}


PAIRS = HALVES | paired_rows(16)


def rope_of(config, of=None):
    rope = config.rope_parameters
    return rope[of] if of else rope


def common(config, *, rope=True, head=None, norm="rms_norm_eps", rms=True, kv_heads=None):
    """Keys that nearly every file has. head: the size of one, or 0 for a file without it. kv_heads: also a list, or 0."""
    keys = {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": getattr(config, "intermediate_size", 96),
        "attention.head_count": config.num_attention_heads,
    }
    if kv_heads != 0:
        keys["attention.head_count_kv"] = kv_heads or config.num_key_value_heads
    keys["attention.layer_norm_rms_epsilon" if rms else "attention.layer_norm_epsilon"] = getattr(config, norm)
    if rope:
        keys["rope.freq_base"] = float(rope_of(config)["rope_theta"])
    if head != 0:
        keys |= {"attention.key_length": head or config.head_dim, "attention.value_length": head or config.head_dim}
    return keys


def of_llama(config, **more):
    """Keys of architectures that llama's converter makes."""
    return {"vocab_size": config.vocab_size} | common(config, **more) | {"rope.dimension_count": 16}


def yarn_keys(rope):
    return {"rope.scaling.type": "yarn", "rope.scaling.factor": rope["factor"],
            "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
            "rope.scaling.yarn_beta_fast": rope["beta_fast"], "rope.scaling.yarn_beta_slow": rope["beta_slow"]}


# With these, rope's pairs are of each kind: as before, between, and slower.
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32, beta_fast=4.0, beta_slow=0.25)


def llama():
    def tiny(name, keys=None, rules=None, notes="", matters=None, **settings):
        config = t.LlamaConfig(**SIZES | settings)
        return Tiny(name, "llama", config, of_llama(config) | (keys or {}), PAIRS | (rules or {}), notes=notes,
                    matters={"rms_norm_eps": 1e-6} | (matters or {}))

    theta = dict(rope_theta=10000.0)
    yield tiny("llama-untied", **UNTIED)
    yield tiny("llama-tied-mqa", **TIED, **ONE_KV_HEAD)
    yield tiny("llama-biases", **UNTIED, attention_bias=True, rules={
        f"self_attn.{x}_proj.bias": paired(f"attn_{x}.bias", 16) for x in "qk"})
    yield tiny("llama-rope-freqs", **UNTIED, rope_parameters=dict(rope_type="default", rope_theta=500000.0),
               rules={"model.rotary_emb.inv_freq": divisor("rope_freqs.weight")},
               notes="Frequencies are divided by rope_freqs, whose values are random here.")
    linear = theta | dict(rope_type="linear", factor=4.0)
    yield tiny("llama-linear", {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}, **UNTIED,
               rope_parameters=linear, matters={"rope_parameters": theta | {"rope_type": "default"}})
    yarn = theta | YARN
    yield tiny("llama-yarn", yarn_keys(yarn), **UNTIED, max_position_embeddings=128, rope_parameters=yarn, matters={
        "rope_parameters": yarn | {"attention_factor": 1.0}})


def mixtral():
    for name, settings in [("llama-experts", UNTIED), ("llama-experts-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.MixtralConfig(**SIZES | settings, num_local_experts=6, num_experts_per_tok=2, sliding_window=None)
        rules = PAIRS | under("mlp.", EXPERTS) | {"mlp.gate.weight": "ffn_gate_inp.weight"}
        yield Tiny(name, "llama", config, of_llama(config) | {"expert_count": 6, "expert_used_count": 2}, rules)


def mistral3():
    rope = YARN | dict(rope_theta=1000000.0, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.25,
                       original_max_position_embeddings=16)
    for name, settings in [("mistral3", UNTIED), ("mistral3-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.Ministral3Config(**SIZES | settings | dict(max_position_embeddings=64), rope_parameters=rope)
        keys = of_llama(config) | yarn_keys(rope) | {"rope.scaling.yarn_log_multiplier": 1.0,
                                                     "attention.temperature_scale": 0.25}
        yield Tiny(name, "mistral3", config, keys, PAIRS, matters={
            "rope_parameters": rope | {"llama_4_scaling_beta": 0.0}},
            notes="yarn_log_multiplier is mscale_all_dim, which equals mscale: cos and sin are not scaled.")


def qwen():
    for name, settings in [("qwen2-untied", UNTIED), ("qwen2-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.Qwen2Config(**SIZES | settings)
        yield Tiny(name, "qwen2", config, common(config), HALVES)
    for name, settings in [("qwen3-tied", TIED), ("qwen3-untied-mqa", UNTIED | ONE_KV_HEAD | dict(head_dim=32))]:
        config = t.Qwen3Config(**SIZES | settings)
        yield Tiny(name, "qwen3", config, common(config), HALVES | HEAD_NORMS)
    for name, settings in [("qwen3moe-untied", UNTIED), ("qwen3moe-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.Qwen3MoeConfig(**SIZES | settings, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32,
                                  norm_topk_prob=True)
        keys = common(config) | {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 32}
        rules = HALVES | HEAD_NORMS | under("mlp.", EXPERTS) | {"mlp.gate.weight": "ffn_gate_inp.weight"}
        yield Tiny(name, "qwen3moe", config, keys, rules, matters={"norm_topk_prob": False},
                   notes="Weights of the chosen experts are divided by their sum, for which files have no key.")


def phi3():
    fused = {"self_attn.qkv_proj.weight": "attn_qkv.weight", "mlp.gate_up_proj.weight": "ffn_up.weight"}

    def tiny(name, keys=None, rules=None, **settings):
        more = {k: settings.pop(k) for k in ("notes", "matters", "prepare", "idle") if k in settings}
        config = t.Phi3Config(**without(SIZES, "head_dim") | settings)
        own = {"rope.scaling.original_context_length": config.original_max_position_embeddings,
               "rope.dimension_count": int(16 * rope_of(config)["partial_rotary_factor"]),
               "attention.sliding_window": config.sliding_window or 0}
        return Tiny(name, "phi3", config, common(config, head=0) | own | (keys or {}),
                    HALVES | fused | (rules or {}), **more)

    yield tiny("phi3-untied", **UNTIED)
    yield tiny("phi3-window-mqa", **UNTIED, **ONE_KV_HEAD, **WINDOW, matters={"sliding_window": None})

    def have_long_frequencies(model):
        """Which transformers would make in the first run. Their divisors come from the file."""
        rope = model.model.rotary_emb
        rope.register_buffer("long_inv_freq", rope.original_inv_freq.clone(), persistent=False)

    divisors = {f"model.rotary_emb.{kind}_inv_freq": divisor(f"rope_factors_{name}.weight")
                for kind, name in [("original", "short"), ("long", "long")]}
    for name, original in [("short", 128), ("long", 32)]:
        rope = dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75,
                    original_max_position_embeddings=original, short_factor=[1.0] * 6, long_factor=[1.0] * 6)
        ratio = SIZES["max_position_embeddings"] / original
        yield tiny(f"phi3-longrope-{name}", {"rope.scaling.attn_factor": math.sqrt(1 + math.log(ratio, original))}, divisors,
                   **TIED, original_max_position_embeddings=original, rope_parameters=rope,
                   prepare=have_long_frequencies, idle=f"rope_factors_{'long' if name == 'short' else 'short'}",
                   notes="The 40 tokens are one call, so long factors are used for all if the original context is shorter."
                   " attn_factor scales cos and sin with both.")


def granite():
    factors = dict(attention_multiplier=0.125, embedding_multiplier=4.0, residual_multiplier=0.5, logits_scaling=2.0)
    keys = {"attention.scale": 0.125, "embedding_scale": 4.0, "residual_scale": 0.5, "logit_scale": 2.0}
    notes = "Logits are divided by logit_scale."
    for name, settings in [("granite-untied", UNTIED), ("granite-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.GraniteConfig(**SIZES | settings | factors)
        yield Tiny(name, "granite", config, of_llama(config, head=0) | keys, PAIRS, notes=notes)
    experts = dict(num_local_experts=8, num_experts_per_tok=3)
    rules = PAIRS | under("block_sparse_moe.", EXPERTS) | {"block_sparse_moe.router.weight": "ffn_gate_inp.weight"}
    keys |= {"expert_count": 8, "expert_used_count": 3}
    config = t.GraniteMoeConfig(**SIZES | UNTIED | factors | experts)
    yield Tiny("granitemoe-untied", "granitemoe", config, of_llama(config, head=0) | keys, rules, notes=notes)
    config = t.GraniteMoeSharedConfig(**SIZES | TIED | ONE_KV_HEAD | factors | experts, shared_intermediate_size=32)
    keys |= {"expert_shared_feed_forward_length": 32}
    rules |= {"shared_mlp.input_linear.weight": one_after_another("ffn_gate_shexp.weight", "ffn_up_shexp.weight"),
              "shared_mlp.output_linear.weight": "ffn_down_shexp.weight"}
    yield Tiny("granitemoe-shared-tied-mqa", "granitemoe", config, of_llama(config, head=0) | keys, rules, notes=notes)


def smollm3():
    for name, settings in [("smollm3-tied", TIED), ("smollm3-untied-mqa", UNTIED | ONE_KV_HEAD)]:
        config = t.SmolLM3Config(**SIZES | settings | dict(num_hidden_layers=4))
        yield Tiny(name, "smollm3", config, of_llama(config), PAIRS, matters={"no_rope_layers": [1, 1, 1, 1]},
                   notes="Every fourth layer is without rope, for which files have no key.")


def olmo2():
    rules = OUTER | ATTENTION | FEED_FORWARD | HEAD_NORMS | LATE_NORMS
    for name, settings in [("olmo2-untied", UNTIED), ("olmo2-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.Olmo2Config(**SIZES | settings)
        yield Tiny(name, "olmo2", config, common(config), rules)
    for name, settings, rope in [("olmo2-window", {}, dict(rope_type="default")), ("olmo2-window-yarn", ONE_KV_HEAD, YARN)]:
        both = {"full_attention": dict(rope_theta=500000.0) | rope,
                "sliding_attention": dict(rope_theta=500000.0, rope_type="default")}
        config = t.Olmo3Config(**SIZES | UNTIED | settings | WINDOW | dict(num_hidden_layers=4, max_position_embeddings=128),
                               rope_parameters=both)
        keys = common(config, rope=False) | {
            "rope.freq_base": 500000.0, "rope.freq_base_swa": 500000.0, "attention.sliding_window": 8,
            "attention.sliding_window_pattern": [True, True, True, False]}
        if rope is YARN:
            keys |= yarn_keys(YARN)
        yield Tiny(name, "olmo2", config, keys, rules, matters={"sliding_window": 16}, notes=
                   "As Olmo 3. Rope is scaled in layers without a window only." if rope is YARN else "As Olmo 3.")


def seed_oss():
    rules = HALVES | {"post_attention_layernorm.weight": "post_attention_norm.weight"}
    for name, settings in [("seed_oss-untied", UNTIED), ("seed_oss-tied-mqa", TIED | ONE_KV_HEAD | dict(attention_bias=False))]:
        config = t.SeedOssConfig(**SIZES | settings)
        yield Tiny(name, "seed_oss", config, common(config), rules)


def starcoder2():
    norms = {f"{theirs}.{kind}": f"{ours}.{kind}" for kind in ("weight", "bias") for theirs, ours in [
        ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "ffn_norm"), ("model.norm", "output_norm")]}
    feed_forward = {f"mlp.{theirs}.{kind}": f"{ours}.{kind}" for kind in ("weight", "bias") for theirs, ours in [
        ("c_fc", "ffn_up"), ("c_proj", "ffn_down")]}
    for name, settings in [("starcoder2-tied", TIED), ("starcoder2-untied-mqa", UNTIED | ONE_KV_HEAD | dict(use_bias=False))]:
        config = t.Starcoder2Config(**without(SIZES, "rms_norm_eps") | settings, norm_epsilon=2.0**-8)
        yield Tiny(name, "starcoder2", config, common(config, norm="norm_epsilon", rms=False),
                   OUTER | ATTENTION | norms | feed_forward)


def ernie4_5():
    for name, settings in [("ernie4_5-tied", TIED), ("ernie4_5-untied-mqa-biases", UNTIED | ONE_KV_HEAD | dict(use_bias=True))]:
        config = t.Ernie4_5Config(**SIZES | settings)
        biases = {f"mlp.{x}_proj.bias": f"ffn_{x}.bias" for x in ("gate", "up", "down")}
        yield Tiny(name, "ernie4_5", config, common(config), HALVES | biases)


def hunyuan():
    rules = HALVES | {"self_attn.query_layernorm.weight": "attn_q_norm.weight",
                      "self_attn.key_layernorm.weight": "attn_k_norm.weight"}
    config = t.HunYuanDenseV1Config(**SIZES | UNTIED)
    yield Tiny("hunyuan-dense-untied", "hunyuan-dense", config, common(config), rules)
    config = t.HunYuanDenseV1Config(**SIZES | TIED | ONE_KV_HEAD, rope_parameters=dict(
        rope_type="dynamic", rope_theta=10000.0, factor=1.0, alpha=16.0))
    yield Tiny("hunyuan-dense-tied-mqa", "hunyuan-dense", config, common(config) | {
        "rope.freq_base": 10000.0 * 16.0 ** (16 / 14)}, rules,
        notes="The base in the file is multiplied by alpha ^ (16 / 14) already.")


def exaone4():
    rules = OUTER | ATTENTION | FEED_FORWARD | HEAD_NORMS | LATE_NORMS
    divided = rules | {"model.rotary_emb.inv_freq": divisor("rope_freqs.weight")}
    for name, rules, settings in [("exaone4-window", rules, UNTIED),
                                  ("exaone4-window-freqs-mqa", divided, UNTIED | ONE_KV_HEAD)]:
        config = t.Exaone4Config(**SIZES | settings | WINDOW | dict(num_hidden_layers=4))
        keys = {"attention.sliding_window": 8, "attention.sliding_window_pattern": [True, True, True, False]}
        yield Tiny(name, "exaone4", config, common(config) | keys, rules, matters={"sliding_window": 16},
                   notes="Layers without a window are without rope.")
    config = t.Exaone4Config(**SIZES | TIED, sliding_window=None, layer_types=["full_attention"] * 2)
    yield Tiny("exaone4-tied", "exaone4", config, common(config), divided,
               notes="No layer has a window, so each has rope.")


def cohere2():
    for name, settings in [("cohere2-tied", TIED), ("cohere2-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.Cohere2Config(**without(SIZES, "rms_norm_eps", "head_dim") | settings | WINDOW | dict(num_hidden_layers=4),
                                 layer_norm_eps=2.0**-8, logit_scale=0.25)
        keys = {"logit_scale": 0.25, "attention.sliding_window": 8, "rope.dimension_count": 16, "rope.scaling.type": "none"}
        yield Tiny(name, "cohere2", config, common(config, norm="layer_norm_eps", rms=False) | keys, HALVES,
                   matters={"sliding_window": 16}, notes="Every fourth layer is without window and rope; no key says so.")


def glm4():
    rules = HALVES | {"mlp.gate_up_proj.weight": "ffn_up.weight", "post_attention_layernorm.weight": "ffn_norm.weight",
                      "post_self_attn_layernorm.weight": "post_attention_norm.weight",
                      "post_mlp_layernorm.weight": "post_ffw_norm.weight"}
    for name, settings in [("glm4-untied", UNTIED | dict(attention_bias=True)), ("glm4-tied-mqa", TIED | ONE_KV_HEAD)]:
        config = t.Glm4Config(**SIZES | settings, rope_parameters=dict(
            rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))
        yield Tiny(name, "glm4", config, common(config) | {"rope.dimension_count": 8}, rules)


FAMILIES = (llama, mixtral, mistral3, qwen, phi3, granite, smollm3, olmo2, seed_oss, starcoder2, ernie4_5, hunyuan,
            exaone4, cohere2, glm4)


def models():
    for family in FAMILIES:
        yield from family()
