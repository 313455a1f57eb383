"""Normalisations."""

from .common import *


def cases(table):
    def over_rows(op, function, choices):
        random = table.random(op)
        for eps in choices:
            for dtype in FLOATS:
                shapes = [(2, 2, 3, 5), (2, 33), (3, 1)] if dtype == torch.float32 else [(2, 2, 9)]
                for shape in shapes:
                    x = random.normal(*shape, dtype=dtype) * 2 + 1
                    result = function(x.double(), f32(eps))
                    table.add(op, [x], result.to(dtype), eps=eps,
                              max_error=SUM if dtype == torch.float32 else ROUNDING[dtype])

    over_rows("norm", lambda x, eps: F.layer_norm(x, x.shape[-1:], eps=eps), [1e-5, 0.1])
    over_rows("rms_norm", lambda x, eps: F.rms_norm(x, x.shape[-1:], eps=eps), [1e-5, 0.1])
    over_rows("l2_norm", lambda x, eps: F.normalize(x, dim=-1, eps=eps), [1e-12, 3.0])
    random = table.random("group_norm")
    for groups, eps in [(1, 1e-5), (2, 1e-3), (6, 0.1)]:
        for dtype in FLOATS:
            x = random.normal(2, 6, 2, 3, dtype=dtype) * 2 + 1
            result = F.group_norm(x.double(), groups, eps=f32(eps))
            table.add("group_norm", [x], result.to(dtype), groups=groups, eps=eps,
                      max_error=SUM if dtype == torch.float32 else ROUNDING[dtype])
