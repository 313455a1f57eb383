"""Functions of each element."""

from .common import *


def half_away(x):
    """torch.round() takes the even one of two that are as near."""
    return torch.trunc(x + 0.5 * torch.sign(x))


def xielu(x, alpha_n, alpha_p, beta, eps):
    """As in the paper's listing."""
    alpha_p = F.softplus(tensor(alpha_p).double())
    alpha_n = beta + F.softplus(tensor(alpha_n).double())
    below = torch.expm1(torch.minimum(x, tensor(eps).double())) * alpha_n - alpha_n * x + beta * x
    return torch.where(x > 0, alpha_p * x * x + beta * x, below)


FUNCTIONS = {
    "abs": torch.abs,
    "ceil": torch.ceil,
    "cos": torch.cos,
    "elu": F.elu,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_erf": F.gelu,
    "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "log": torch.log,
    "neg": torch.neg,
    "relu": F.relu,
    "round": half_away,
    "sgn": torch.sign,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "sin": torch.sin,
    # torch's is x itself from the threshold on.
    "softplus": lambda x: F.softplus(x, threshold=100),
    "sqr": torch.square,
    "sqrt": torch.sqrt,
    "step": lambda x: torch.heaviside(x, torch.zeros_like(x)),
    "tanh": torch.tanh,
    "trunc": torch.trunc,
}
ONLY_POSITIVE = ("log", "sqrt")
# What is not a number, and no number at all: of the others the formula says nothing useful.
NOT_FINITE = ("abs", "ceil", "elu", "exp", "expm1", "floor", "neg", "relu", "round", "sigmoid",
              "softplus", "sqr", "sqrt", "tanh", "trunc")


def cases(table):
    special = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, 1e-4, -1e-4, 9.25, -9.25]
    for op, function in FUNCTIONS.items():
        random = table.random(op)
        for dtype in FLOATS:
            x = random.normal(3, 11, dtype=dtype, scale=3)
            if op in ONLY_POSITIVE:
                x = x.abs()
            table.add(op, [x], function(x.double()).to(dtype), max_error=ROUNDING[dtype])
        x = tensor(special)
        if op in ONLY_POSITIVE:
            x = x.abs()
        table.add(op, [x], function(x.double()), max_error=ELEMENT, what="around whole numbers")
        if op in NOT_FINITE:
            x = tensor([INFINITY, NAN, 1.0] + ([] if op in ONLY_POSITIVE else [-INFINITY]))
            table.add(op, [x], function(x.double()), max_error=ELEMENT, what="not finite")
    for op, function, choices in [
        ("leaky_relu", lambda x, slope: F.leaky_relu(x, f32(slope)), [{"slope": 0.25},
                                                                      {"slope": 0.01}]),
        ("clamp", lambda x, low, high: torch.clamp(x, f32(low), f32(high)),
         [{"low": -0.5, "high": 1.75}, {"low": 0.1, "high": 0.1}]),
        ("xielu", lambda x, **p: xielu(x, **{key: f32(value) for key, value in p.items()}),
         [{"alpha_n": 0.3, "alpha_p": -0.7, "beta": 0.5, "eps": -1e-6}]),
    ]:
        random = table.random(op)
        for params in choices:
            for dtype in FLOATS:
                x = random.normal(2, 13, dtype=dtype, scale=2)
                table.add(op, [x], function(x.double(), **params).to(dtype),
                          max_error=ROUNDING[dtype], **params)
