"""Where elements stand among others."""

from .common import *


def cases(table):
    def rows(op, few=False):
        random = table.random(op)
        yield random.normal(2, 3, 17)
        yield random.normal(5, 1 if not few else 9)
        yield random.integers(0, 4, 3, 21).float()  # many equals
        for dtype in FLOATS[1:]:
            yield random.normal(3, 15, dtype=dtype)

    for x in rows("argmax"):
        # Of equals, torch does not say which; NumPy does: the first.
        result = torch.from_numpy(x.double().numpy().argmax(axis=-1)).int()
        table.add("argmax", [x], result, max_error=EXACT)
    for x in rows("argsort"):
        for order in ("ascending", "descending"):
            result = torch.sort(x.double(), dim=-1, descending=order == "descending", stable=True)
            table.add("argsort", [x], result.indices.int(), max_error=EXACT, order=order)
    x = tensor([[1.0, NAN, -INFINITY, 3.0, INFINITY, NAN, 0.0]])
    result = torch.sort(x, dim=-1, stable=True).indices
    table.add("argsort", [x], result.int(), max_error=EXACT, order="ascending", what="not finite")
    for x in rows("top_k", few=True):
        # torch.topk() does not say which of equals it takes.
        result = torch.sort(x.double(), dim=-1, descending=True, stable=True).indices.int()
        for k in (1, 4):
            table.add("top_k", [x], result[..., :k].contiguous(), max_error=EXACT, k=k)
    x = table.random("topk").permutation(40).float().reshape(2, 20)
    table.add("top_k", [x], torch.topk(x, 7).indices.int(), max_error=EXACT, k=7,
              what="torch.topk")
