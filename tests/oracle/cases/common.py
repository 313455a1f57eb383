"""What the tables of cases are made of.

A tensor is torch's, of which the last dimension is innermost; Shunt names the innermost first, so a
torch tensor [N, C, H, W] is Shunt's [W, H, C, N], with the same elements in the same order.
"""

import math
import zlib

import torch
import torch.nn.functional as F  # noqa: F401 (the families take it from here)

# Largest normalised mean square error that a device may have.
EXACT = 0
ELEMENT = 1e-12  # each element computed for itself in F32
SUM = 1e-10  # sums of F32 products
F16 = 1e-7  # rounded to F16, once
BF16 = 1e-5  # rounded to BF16, once
F16_PRODUCTS = 5e-7  # of which both factors may be rounded to F16, and scores between two products
BF16_PRODUCTS = 5e-5

INFINITY = math.inf
NAN = math.nan

TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
}
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
# Two types that an op of two operands is given.
MIXED = [(a, b) for a in FLOATS for b in FLOATS if a != b]
ROUNDING = {torch.float32: ELEMENT, torch.float16: F16, torch.bfloat16: BF16}


def f32(number):
    """What a parameter becomes, which Shunt keeps in F32."""
    return torch.tensor(number, dtype=torch.float32).double().item()


class Typed:
    """A tensor of a type that torch has no name for, whose values the type must hold exactly; or of
    F64, where that is not just what something else was computed in."""

    def __init__(self, type, values):
        self.type = type
        self.values = values

    def double(self):
        return self.values.double()


class Random:
    """Numbers of few digits, so that the files are small and can be read."""

    def __init__(self, name):
        self.generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))

    def normal(self, *shape, dtype=torch.float32, scale=1.0):
        x = torch.randn(shape, generator=self.generator, dtype=torch.float64) * scale
        return self.few_digits(x, dtype)

    def uniform(self, low, high, *shape, dtype=torch.float32):
        x = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        return self.few_digits(x, dtype)

    def few_digits(self, x, dtype):
        steps = 100 if dtype in (torch.float32, torch.float64) else 8
        return ((x * steps).round() / steps).to(dtype)

    def integers(self, low, high, *shape, dtype=torch.int32):
        """From low to high - 1."""
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)

    def permutation(self, n, dtype=torch.int32):
        return torch.randperm(n, generator=self.generator).to(dtype)

    def q8_0(self, *shape):
        """Each block has 127 in it, so that its scale is 1."""
        x = torch.randint(-127, 128, shape, generator=self.generator).double()
        x[..., ::32] = 127
        return Typed("Q8_0", x)

    def q4_0(self, *shape):
        """Each block has -8 in it, so that its scale is 1."""
        x = torch.randint(-8, 8, shape, generator=self.generator).double()
        x[..., ::32] = -8
        return Typed("Q4_0", x)


def gradient(function, inputs, upstream):
    """Of sum(function(inputs) * upstream) by the first input, by torch's autograd in double."""
    inputs = [x.double() for x in inputs]
    inputs[0] = inputs[0].clone().requires_grad_(True)
    function(*inputs).backward(upstream.double())
    return inputs[0].grad


def tensor(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)
