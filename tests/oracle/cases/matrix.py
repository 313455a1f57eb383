"""Products of matrices."""

from .common import *


def blocks_or(random, type, *shape):
    if type == "Q8_0":
        return random.q8_0(*shape)
    if type == "Q4_0":
        return random.q4_0(*shape)
    return random.normal(*shape, dtype=type)


# Weights, the length of rows, the error. Typed of 8 bits for x cost 4e-5 over many sums.
WEIGHTS = [(torch.float32, 17, SUM), (torch.float16, 33, SUM), (torch.bfloat16, 9, SUM),
           ("Q8_0", 64, 1e-4), ("Q4_0", 32, 1e-4)]


def cases(table):
    random = table.random("matmul")
    for type, k, error in WEIGHTS:
        if type == torch.bfloat16:  # x may be rounded to it: 6e-6 over many sums
            error = 2e-5
        for outer_w, outer_x, m, n in [((), (), 4, 5), ((1, 2), (2, 4), 3, 1), ((), (), 7, 1)]:
            w = blocks_or(random, type, *outer_w, m, k)
            x = random.normal(*outer_x, n, k)
            both = w.double()
            if outer_w:
                both = both.repeat_interleave(outer_x[1] // outer_w[1], dim=1)
                both = both.repeat_interleave(outer_x[0] // outer_w[0], dim=0)
            table.add("matmul", [w, x], torch.matmul(x.double(), both.mT), max_error=error)
    for dtype in FLOATS:  # more slices of w than of x
        w, x = random.normal(2, 2, 3, 9, dtype=dtype), random.normal(2, 1, 4, 9, dtype=dtype)
        table.add("matmul", [w, x], torch.matmul(x.double(), w.double().mT), max_error=SUM)
    random = table.random("matmul_id")
    for type, k, error in WEIGHTS:
        experts, m, used, tokens = 4, 3, 2, 3
        w = blocks_or(random, type, experts, m, k)
        ids = torch.stack([random.permutation(experts)[:used] for _ in range(tokens)])
        for u in (used, 1):
            x = random.normal(tokens, u, k)
            result = torch.einsum("tumk,tuk->tum", w.double()[ids.long()],
                                  x.double().expand(tokens, used, k))
            table.add("matmul_id", [w, x, ids], result, max_error=error)
    for dtype in FLOATS[1:]:
        w, x = random.normal(3, 4, 17, dtype=dtype), random.normal(5, 1, 17, dtype=dtype)
        ids = random.integers(0, 3, 5, 2, dtype=torch.int64)
        result = torch.einsum("tumk,tuk->tum", w.double()[ids], x.double().expand(5, 2, 17))
        table.add("matmul_id", [w, x, ids], result)
    random = table.random("solve_tri")
    for triangle in ("lower", "upper"):
        for unit in (False, True):
            for outer_a, outer_b, n, r in [((), (), 5, 3), ((1, 2), (2, 4), 4, 1), ((), (), 1, 2)]:
                # Well away from a singular one; the other triangle must not matter.
                a = random.uniform(-1, 1, *outer_a, n, n) + 3 * torch.eye(n)
                b = random.normal(*outer_b, n, r)
                both = a.double()
                if outer_a:
                    both = both.repeat_interleave(2, dim=0).repeat_interleave(2, dim=1)
                result = torch.linalg.solve_triangular(
                    both, b.double(), upper=triangle == "upper", unitriangular=unit)
                table.add("solve_tri", [a, b], result, triangle=triangle, unit=unit)
