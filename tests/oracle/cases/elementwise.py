"""Arithmetic element by element."""

from .common import *

FUNCTIONS = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}


def cases(table):
    for op, function in FUNCTIONS.items():
        random = table.random(op)
        shapes = [((2, 3, 5), (2, 3, 5)), ((2, 3, 5), (1, 3, 1)), ((2, 3, 1, 7), (1, 1, 7)),
                  ((4, 5), (1,))]
        for a_shape, b_shape in shapes:
            a, b = random.normal(*a_shape), random.normal(*b_shape)
            table.add(op, [a, b], function(a.double(), b.double()), max_error=ELEMENT)
        # Repeated a whole number of times, which torch has no name for.
        a, b = random.normal(4, 3, 6), random.normal(2, 3, 2)
        table.add(op, [a, b], function(a.double(), b.double().repeat(2, 1, 3)), max_error=ELEMENT)
        for dtype in FLOATS[1:]:
            a = random.normal(3, 9, dtype=dtype)
            for b in (random.normal(9), random.normal(3, 9, dtype=dtype) + 5):
                table.add(op, [a, b], function(a.double(), b.double()).to(dtype),
                          max_error=ROUNDING[dtype])
        for dtype, other in MIXED:
            a, b = random.normal(2, 3, 9, dtype=dtype), random.normal(3, 1, dtype=other) + 5
            table.add(op, [a, b], function(a.double(), b.double()).to(dtype),
                      max_error=ROUNDING[dtype])
    random = table.random("add1")
    for dtype in FLOATS:
        a, s = random.normal(2, 3, 5, dtype=dtype), random.normal(1)
        table.add("add1", [a, s], (a.double() + s.double()).to(dtype), max_error=ROUNDING[dtype])
    for dtype, other in MIXED:
        a, s = random.normal(3, 5, dtype=dtype), random.normal(1, dtype=other)
        table.add("add1", [a, s], (a.double() + s.double()).to(dtype), max_error=ROUNDING[dtype])
    random = table.random("add_id")
    for dtype in FLOATS:
        x, b = random.normal(5, 3, 7, dtype=dtype), random.normal(4, 7)
        ids = random.integers(0, 4, 5, 3)
        result = x.double() + F.embedding(ids, b.double())
        table.add("add_id", [x, b, ids], result.to(dtype), max_error=ROUNDING[dtype])
    for dtype, other in MIXED:
        x, b = random.normal(3, 2, 7, dtype=dtype), random.normal(4, 7, dtype=other)
        ids = random.integers(0, 4, 3, 2, dtype=torch.int64)
        result = x.double() + F.embedding(ids, b.double())
        table.add("add_id", [x, b, ids], result.to(dtype), max_error=ROUNDING[dtype])
    random = table.random("scale")
    for scale, bias in [(0.3, 0.0), (-1.7, 2.5), (0.0, 1.0)]:
        for dtype in FLOATS:
            x = random.normal(3, 2, 9, dtype=dtype)
            result = torch.add(f32(bias), x.double(), alpha=f32(scale))
            table.add("scale", [x], result.to(dtype), max_error=ROUNDING[dtype], scale=scale,
                      bias=bias)
