"""Gates."""

from .common import *

GATES = {
    "reglu": F.relu,
    "geglu": lambda x: F.gelu(x, approximate="tanh"),
    "geglu_erf": F.gelu,
    "geglu_quick": lambda x: x * torch.sigmoid(1.702 * x),
    "swiglu": F.silu,
}


def swiglu_oai(gate, up, alpha, limit):
    gate = gate.clamp(max=limit)
    return gate * torch.sigmoid(f32(alpha) * gate) * (up.clamp(-limit, limit) + 1)


def fused(table, op, function, both, dtype, **params):
    """Both halves in one operand; torch's glu() wants the gate in the second one."""
    first, second = both.double().chunk(2, dim=-1)
    for half, gate, up in [("first", first, second), ("second", second, first)]:
        table.add(op, [both, None], function(gate, up).to(dtype), max_error=ROUNDING[dtype],
                  gate=half, **params)


def cases(table):
    for op, function in GATES.items():
        random = table.random(op)
        for dtype in FLOATS:
            gate = random.normal(3, 11, dtype=dtype, scale=2)
            up = random.normal(3, 11, dtype=dtype)
            result = function(gate.double()) * up.double()
            table.add(op, [gate, up], result.to(dtype), max_error=ROUNDING[dtype])
            both = random.normal(3, 14, dtype=dtype, scale=2)
            fused(table, op, lambda gate, up, f=function: f(gate) * up, both, dtype)
        for dtype, other in MIXED:
            gate, up = random.normal(2, 9, dtype=dtype, scale=2), random.normal(2, 9, dtype=other)
            result = function(gate.double()) * up.double()
            table.add(op, [gate, up], result.to(dtype), max_error=ROUNDING[dtype])
    # sigmoid(gate) * up is torch's own; here times the gate, which makes it swiglu.
    both = table.random("glu").normal(2, 3, 10)
    gate = both.double().chunk(2, dim=-1)[1]
    table.add("swiglu", [both, None], F.glu(both.double(), dim=-1) * gate, max_error=ELEMENT,
              gate="second", what="torch.nn.functional.glu times the gate")
    random = table.random("swiglu_oai")
    for dtype in FLOATS:
        for params in [{"alpha": 1.702, "limit": 7.0}, {"alpha": 0.5, "limit": 1.5}]:
            gate = random.normal(3, 11, dtype=dtype, scale=4)
            up = random.normal(3, 11, dtype=dtype, scale=4)
            result = swiglu_oai(gate.double(), up.double(), **params)
            table.add("swiglu_oai", [gate, up], result.to(dtype), max_error=ROUNDING[dtype],
                      **params)
            both = random.normal(2, 14, dtype=dtype, scale=4)
            fused(table, "swiglu_oai",
                  lambda gate, up, p=params: swiglu_oai(gate, up, **p), both, dtype, **params)
