"""Many elements to one."""

from .common import *

FUNCTIONS = {
    "sum": torch.sum,
    "sum_rows": lambda x: torch.sum(x, dim=-1, keepdim=True),
    "mean": lambda x: torch.mean(x, dim=-1, keepdim=True),
}


def cases(table):
    for op, function in FUNCTIONS.items():
        random = table.random(op)
        for shape in [(2, 3, 4, 5), (3, 67), (7, 1)]:
            x = random.normal(*shape)
            table.add(op, [x], function(x.double()))
        for dtype in FLOATS[1:]:
            x = random.normal(3, 25, dtype=dtype)
            # A sum of which little is left has only its own rounding to be held against.
            result = function(x.double()).to(dtype)
            table.add(op, [x], result, max_error=ROUNDING[dtype])
    for op in ("sum", "sum_rows"):
        x = torch.zeros(3, 0)
        table.add(op, [x], FUNCTIONS[op](x.double()), max_error=EXACT, what="no elements")
    random = table.random("cumsum")
    for shape in [(2, 3, 5), (2, 40), (4, 1)]:
        x = random.normal(*shape)
        table.add("cumsum", [x], torch.cumsum(x.double(), dim=-1))
