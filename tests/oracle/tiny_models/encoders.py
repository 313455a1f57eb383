"""Encoders, whose tokens attend to all others. The last layer's states are recorded, not logits."""

import functools

import transformers as t

from . import gemma
from .dense import ATTENTION, FEED_FORWARD, NORMS, ONE_KV_HEAD, SIZES, common
from .model import Tiny
from .rules import part, without_first

WIDTH = dict(hidden_size=32, intermediate_size=64, num_attention_heads=2)
PLAIN = dict(vocab_size=48, num_hidden_layers=2, max_position_embeddings=64, pad_token_id=0) | WIDTH
Encoder = functools.partial(Tiny, model_class=t.AutoModel, result="hidden")


def biased(pairs):
    return {f"{theirs}.{kind}": f"{ours}.{kind}" for theirs, ours in pairs for kind in ("weight", "bias")}


def keys(config, heads, norm, rms, kv_heads=0):
    return common(config, rope=False, head=32 // heads, norm=norm, rms=rms, kv_heads=kv_heads) | {"attention.causal": False}


def bert():
    rules = {"embeddings.word_embeddings.weight": "token_embd.weight", "embeddings.position_embeddings.weight": "position_embd.weight",
             "embeddings.token_type_embeddings.weight": "token_types.weight"} | biased([
                 ("embeddings.LayerNorm", "token_embd_norm"), ("attention.self.query", "attn_q"), ("attention.self.key", "attn_k"),
                 ("attention.self.value", "attn_v"), ("attention.output.dense", "attn_output"),
                 ("attention.output.LayerNorm", "attn_output_norm"), ("intermediate.dense", "ffn_up"), ("output.dense", "ffn_down"),
                 ("output.LayerNorm", "layer_output_norm")])
    for name, heads in [("bert", 2), ("bert-large-heads", 1)]:
        config = t.BertConfig(**PLAIN | dict(num_attention_heads=heads), layer_norm_eps=2.0**-8)
        own = keys(config, heads, "layer_norm_eps", rms=False)
        yield Encoder(name, "bert", config, own, rules, options={"add_pooling_layer": False}, idle=r"attn_k\.bias",
                      notes="Every token is of type 0. gelu has erf.")
    config = t.XLMRobertaConfig(**PLAIN | dict(pad_token_id=1, max_position_embeddings=66), type_vocab_size=1, layer_norm_eps=2.0**-8,
                                bos_token_id=None, eos_token_id=None)
    own = keys(config, 2, "layer_norm_eps", rms=False) | {"context_length": 64}
    yield Encoder("bert-positions", "bert", config, own,
                  rules | {"embeddings.position_embeddings.weight": without_first("position_embd.weight", 2)},
                  options={"add_pooling_layer": False}, idle=r"attn_k\.bias",
                  notes="transformers counts positions from 2 on. The padding token 1, which has no position, is not among the tokens.")


def nomic_bert():
    rules = {"embeddings.word_embeddings.weight": "token_embd.weight", "embeddings.token_type_embeddings.weight": "token_types.weight",
             "self_attn.o_proj.weight": "attn_output.weight"} | FEED_FORWARD | biased([
                 ("embeddings.LayerNorm", "token_embd_norm"), ("post_attention_layernorm", "attn_output_norm"),
                 ("post_mlp_layernorm", "layer_output_norm")]) | {
        f"self_attn.{x}_proj.weight": part("attn_qkv.weight", i, 3) for i, x in enumerate("qkv")}
    for name, heads in [("nomic-bert", 2), ("nomic-bert-large-heads", 1)]:
        config = t.NomicBertConfig(**PLAIN | dict(num_attention_heads=heads), layer_norm_eps=2.0**-8)
        own = keys(config, heads, "layer_norm_eps", rms=False) | {"rope.freq_base": 1000.0}
        yield Encoder(name, "nomic-bert", config, own, rules,
                      notes="Every token is of type 0. Names of tensors and keys are those of published files.")


def modern_bert():
    rules = {f"{theirs}.weight": f"{ours}.weight" for theirs, ours in [
        ("embeddings.tok_embeddings", "token_embd"), ("embeddings.norm", "token_embd_norm"), ("final_norm", "output_norm"),
        ("attn_norm", "attn_norm"), ("attn.Wqkv", "attn_qkv"), ("attn.Wo", "attn_output"), ("mlp_norm", "ffn_norm"),
        ("mlp.Wi", "ffn_up"), ("mlp.Wo", "ffn_down")]}
    for name, heads in [("modern-bert", 2), ("modern-bert-large-heads", 1)]:
        config = t.ModernBertConfig(**PLAIN | dict(num_attention_heads=heads, num_hidden_layers=4), norm_eps=2.0**-8, local_attention=8,
                                    bos_token_id=None, eos_token_id=None, cls_token_id=None, sep_token_id=None)
        own = keys(config, heads, "norm_eps", rms=True) | {
            "rope.freq_base": 160000.0, "rope.freq_base_swa": 10000.0, "attention.sliding_window": 8,
            "rope.scaling.type": "none", "hidden_activation": "gelu", "classifier.pooling_type": 2}
        yield Encoder(name, "modern-bert", config, own, rules, matters={"local_attention": 12},
                      notes="Layers 0, 3, ... see all; others see as far as half the window to both sides, itself included."
                      " Norms subtract the mean, though the key of epsilon has rms in its name. gelu has erf.")


def eurobert():
    rules = ATTENTION | FEED_FORWARD | NORMS | {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}
    for name, heads in [("eurobert", 2), ("eurobert-mqa", 1)]:
        config = t.EuroBertConfig(**PLAIN, num_key_value_heads=heads, rms_norm_eps=2.0**-8, bos_token_id=None, eos_token_id=None)
        own = keys(config, 2, "rms_norm_eps", rms=True, kv_heads=heads) | {
            "rope.freq_base": float(config.rope_parameters["rope_theta"]), "rope.scaling.type": "none", "classifier.pooling_type": 1}
        yield Encoder(name, "eurobert", config, own, rules)


def gemma_embedding():
    rules = {name.removeprefix("model."): rule for name, rule in (gemma.RULES | gemma.ONE_MORE).items()}
    for name, settings in [("gemma-embedding", {}), ("gemma-embedding-mqa", ONE_KV_HEAD)]:
        config = t.Gemma3TextConfig(**SIZES | WIDTH | settings | dict(num_hidden_layers=6), use_bidirectional_attention=True,
                                    sliding_window=8, query_pre_attn_scalar=16)
        own = common(config, rope=False) | {"attention.causal": False, "attention.sliding_window": 8,
                                            "rope.freq_base": 1000000.0, "rope.freq_base_swa": 10000.0}
        yield Encoder(name, "gemma-embedding", config, own, rules, gemma.SCALES, matters={"sliding_window": 12},
                      notes="Every sixth layer sees all; others see as far as half the window to both sides. No key says so."
                      " Names of tensors and keys are those of published files.")


def models():
    for family in (bert, nomic_bert, modern_bert, eurobert, gemma_embedding):
        yield from family()
