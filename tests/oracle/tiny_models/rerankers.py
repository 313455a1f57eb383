"""Encoders with a classifier head, and a decoder with one: the scores of a text, or of a pair of texts, are recorded."""

import functools

import transformers as t

from . import dense
from .encoders import PLAIN, biased, keys
from .encoders import bert as bert_encoders
from .encoders import modern_bert as modern_bert_encoders
from .model import TOKENS, Tiny

Reranker = functools.partial(Tiny, model_class=t.AutoModelForSequenceClassification, result="scores", least=5e-4)
FIRST = 13  # tokens of the first text
SMALL_BIAS = {r"cls\.output\.bias": (2.0**-4, 0.0)}


def within(prefix, rules):
    """Rules of a model that is a part of another one. Names of layers do not have its prefix."""
    return rules | {f"{prefix}.{name}": rule for name, rule in rules.items()}


def bert():
    encoder = next(bert_encoders())
    rules = within("bert", encoder.rules) | biased([("bert.pooler.dense", "cls"), ("classifier", "cls.output")])
    config = t.BertConfig(**PLAIN | dict(num_attention_heads=2), layer_norm_eps=2.0**-8, num_labels=1)
    own = keys(config, 2, "layer_norm_eps", rms=False) | {"pooling_type": 4}
    yield Reranker("bert-rerank", "bert", config, own, rules, SMALL_BIAS, idle=r"attn_k\.bias", types=[0] * FIRST + [1] * (TOKENS - FIRST),
                   notes="The pooler is the head's first matrix, with tanh.")


def modern_bert():
    encoder = next(modern_bert_encoders())
    rules = within("model", encoder.rules) | {"head.dense.weight": "cls.weight", "head.norm.weight": "cls.norm.weight"} | biased(
        [("classifier", "cls.output")])
    config = t.ModernBertConfig.from_dict(encoder.config.to_dict() | dict(num_labels=1, classifier_pooling="cls"))
    yield Reranker("modern-bert-rerank", "modern-bert", config, encoder.keys | {"classifier.pooling_type": 4}, rules, SMALL_BIAS,
                   notes="The head has gelu with erf and a norm.")


def qwen3():
    for decoder in dense.models():
        if decoder.name != "qwen3-untied-mqa":
            continue
        rules = dict(decoder.rules) | {"score.weight": "cls.output.weight"}
        config = type(decoder.config).from_dict(decoder.config.to_dict() | dict(num_labels=2, pad_token_id=0))
        yield Reranker("qwen3-rerank", "qwen3", config,
                       decoder.keys | {"pooling_type": 4, "classifier.output_labels": ["yes", "no"]}, rules, decoder.scales,
                       notes="The score of a text is the softmax of the two of its last token.")


def models():
    for family in (bert, modern_bert, qwen3):
        yield from family()
