"""A tiny model of an architecture: transformers' model, with the numbers of a GGUF file."""

import dataclasses
import math
import re
import typing

import numpy as np
import torch
import transformers

from . import generator
from .double import Double
from .rules import Rule, plain

TOKENS = 40
LAYER = re.compile(r"(.*\blayers?)\.(\d+)\.(.*)")


@dataclasses.dataclass
class Tiny:
    name: str
    architecture: str
    config: transformers.PreTrainedConfig
    keys: dict
    rules: dict  # a parameter's name, "layer" for its layer's: a rule, or a tensor's name
    scales: dict = dataclasses.field(default_factory=dict)  # a regular expression for tensors: scale and offset
    # Settings of transformers and other values for them, which must change the logits.
    matters: dict = dataclasses.field(default_factory=dict)
    idle: str = ""  # a regular expression for tensors that hardly matter to the logits
    notes: str = ""
    prepare: typing.Callable = lambda model: None
    model_class: type = transformers.AutoModelForCausalLM
    options: dict = dataclasses.field(default_factory=dict)  # of its constructor
    result: str = "logits"
    least: float = 2e-3  # relative change of the result by another value of a tensor
    types: list = dataclasses.field(default_factory=list)  # of tokens; none: all 0


def log2_scale(fan_in):
    return 2.0 ** round(math.log2(math.sqrt(3 / fan_in)))


# For tensors that a model has no own scale for. Queries and keys are large, so that attention is peaked.
SCALES = [
    (r"attn_[qk]_norm\.weight", lambda shape: (0.5, 1.5)),
    (r"norm[_0-9]*(\.weight)?$", lambda shape: (0.5, 1.0)),
    (r"rope_(freqs|factors_\w+)\.weight", lambda shape: (1.0, 2.0)),
    (r"token_embd\.weight", lambda shape: (0.5, 0.0)),
    (r"attn_[qk]\.weight", lambda shape: (2 * log2_scale(shape[-1]), 0.0)),
    (r"ffn_gate_inp\.weight", lambda shape: (2 * log2_scale(shape[-1]), 0.0)),
    (r"\.bias", lambda shape: (0.5, 0.0)),
    (r"", lambda shape: (log2_scale(shape[-1]), 0.0)),
]


class Loaded:
    """The model that transformers runs, of one precision."""

    def __init__(self, tiny, dtype, config=None):
        self.tiny = tiny
        config = config or tiny.config
        self.model = tiny.model_class.from_config(config, attn_implementation="eager", dtype=dtype, **tiny.options).eval()
        self.model.requires_grad_(False)
        tiny.prepare(self.model)
        assert self.model.config._attn_implementation == "eager"
        if hasattr(self.model, "set_experts_implementation"):
            self.model.set_experts_implementation("eager")
        self.parameters = dict(self.model.named_parameters())  # each once, also if two share it
        shared = {x.data_ptr() for x in self.parameters.values()}
        for name, x in self.model.state_dict(keep_vars=True).items():
            if name not in self.parameters and x.data_ptr() not in shared:
                self.parameters[name] = x
        for name, x in self.model.named_buffers():
            if name in tiny.rules:
                self.parameters[name] = x
        self.old = {name: x.clone() for name, x in self.parameters.items()}
        self.bind()

    def bind(self):
        """Which tensors each parameter is made of."""
        self.bound, self.shapes = {}, {}
        for name, x in self.parameters.items():
            rule, prefix = self.rule(name)
            if isinstance(rule, str):
                rule = plain(rule)
            names = [prefix + n if prefix else n for n in rule.names]
            self.bound[name] = (rule, names)
            for tensor, shape in zip(names, rule.shapes(tuple(x.shape)), strict=True):
                assert self.shapes.setdefault(tensor, tuple(shape)) == tuple(shape), f"{tensor} has two shapes"
        for name in self.tiny.rules:
            assert not name.endswith("inv_freq") or name in self.parameters, f"{self.tiny.name}: there is no {name}"

    def rule(self, name):
        rules = self.tiny.rules
        if match := LAYER.fullmatch(name):
            _, layer, rest = match.groups()
            for key in (f"layer {layer} {rest}", rest):
                if key in rules:
                    return rules[key], f"blk.{layer}."
        assert name in rules, f"{self.tiny.name}: no rule for {name} {tuple(self.parameters[name].shape)}"
        return rules[name], ""

    def tensors(self):
        return {name: (shape, *self.scale(name, shape)) for name, shape in self.shapes.items()}

    def scale(self, name, shape):
        for pattern, pair in self.tiny.scales.items():
            if re.search(pattern, name):
                return pair
        return next(function(shape) for pattern, function in SCALES if re.search(pattern, name))

    def load(self, values):
        for name, (rule, names) in self.bound.items():
            self.set(name, [values[n] for n in names])

    def set(self, name, arrays):
        x = self.parameters[name]
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        with torch.no_grad():
            joined = self.bound[name][0].join([torch.from_numpy(a).to(wide) for a in arrays], self.old[name])
            assert joined.shape == x.shape, f"{name}: {tuple(joined.shape)} for {tuple(x.shape)}"
            x.copy_(joined)

    def run(self, tokens):
        with torch.no_grad():
            if self.tiny.result == "scores":
                types = {"token_type_ids": torch.tensor([self.tiny.types])} if self.tiny.types else {}
                return self.model(torch.tensor([tokens]), **types).logits.double().numpy()
            out = self.model(torch.tensor([tokens]), use_cache=False) if self.tiny.result == "logits" else \
                self.model(torch.tensor([tokens]))
        return (out.logits if self.tiny.result == "logits" else out.last_hidden_state)[0].double().numpy()


def relative(a, b):
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def changed(values, name, scale):
    # A correction of scores matters in steps only.
    part = 1 if "exp_probs_b" in name else 1 / 8
    return values + generator.values(name + " changed", values.shape, scale * part, 0)


def record(tiny, check=True):
    """The file's content, and complaints."""
    transformers.set_seed(0)
    with Double() as mode:
        double = Loaded(tiny, torch.float64)
        tensors = double.tensors()
        values = {name: generator.values(name, *rest) for name, rest in tensors.items()}
        double.load(values)
        vocabulary = tiny.config.vocab_size
        # Tokens whose choice of experts isn't a matter of rounding.
        for attempt in range(500):
            mode.margin = 1.0
            tokens = generator.tokens(f"{tiny.name} {attempt}", TOKENS, vocabulary)
            logits = double.run(tokens)
            if mode.margin > 1e-3:
                break
        else:
            raise AssertionError(f"{tiny.name}: choices of experts are too close")
        assert np.isfinite(logits).all()
        complaints = list(depends(tiny, double, tensors, values, tokens, logits)) if check else []
    single = Loaded(tiny, torch.float32)
    single.load(values)
    difference = float(np.abs(single.run(tokens) - logits).max())
    return tensors, tokens, logits, difference, complaints


def depends(tiny, loaded, tensors, values, tokens, logits):
    """Yields the tensors and settings that hardly change the logits."""
    users, least = {}, tiny.least
    for parameter, (_, names) in loaded.bound.items():
        for name in names:
            users.setdefault(name, []).append(parameter)
    for name, (_, scale, offset) in tensors.items():
        other = values | {name: changed(values[name], name, scale)}
        for parameter in users[name]:
            loaded.set(parameter, [other[n] for n in loaded.bound[parameter][1]])
        effect = relative(loaded.run(tokens), logits)
        for parameter in users[name]:
            loaded.set(parameter, [values[n] for n in loaded.bound[parameter][1]])
        if tiny.idle and re.search(tiny.idle, name):
            if effect >= least:
                yield f"{name} is idle by the table, but changes by {effect:.2g}"
        elif effect < least:
            yield f"{name} changes by {effect:.2g} only"
    assert relative(loaded.run(tokens), logits) == 0
    for name, value in tiny.matters.items():
        config = type(tiny.config).from_dict(tiny.config.to_dict() | {name: value})
        other = Loaded(tiny, torch.float64, config)
        other.load(values)
        effect = relative(other.run(tokens), logits)
        if effect < least:
            yield f"{name} = {value} changes by {effect:.2g} only"
