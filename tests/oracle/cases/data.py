"""Copies, conversions, and elements put elsewhere."""

from .common import *

FLOAT_TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGER_TYPES = [torch.int8, torch.int16, torch.int32, torch.int64]


def convert(x, dtype):
    """torch's conversion. To an integer it would cut off the fraction, and wrap around."""
    if dtype in INTEGER_TYPES:
        if x.dtype.is_floating_point:
            x = torch.round(x.double())
        limits = torch.iinfo(dtype)
        return x.clamp(min=limits.min, max=limits.max).to(dtype)
    if x.dtype in INTEGER_TYPES and dtype != torch.float64:
        x = x.float()
    return x.to(dtype)


def conversions(table):
    random = table.random("cpy")
    for source in FLOAT_TYPES + INTEGER_TYPES:
        for target in FLOAT_TYPES + INTEGER_TYPES:
            if source in INTEGER_TYPES:
                limits = torch.iinfo(source)
                src = random.integers(-200 if limits.min < -200 else limits.min, limits.max // 2
                                      if limits.max < 40000 else 40000, 2, 6, dtype=source)
            else:
                src = random.normal(2, 6, dtype=source, scale=60)
            dst = torch.zeros(2, 6, dtype=target)
            result = convert(src, target)
            table.add("cpy", [dst, src], Typed(TYPES[target], result), max_error=EXACT)
    for source in (torch.float32, torch.float16):
        ties = tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 300, -300, 40000, -40000], source)
        for target in INTEGER_TYPES:
            dst = torch.zeros(10, dtype=target)
            table.add("cpy", [dst, ties], convert(ties, target), max_error=EXACT,
                      what="ties and saturation")
    for blocks in (random.q8_0(3, 64), random.q4_0(3, 64)):
        values = blocks.values.float()
        zeros = Typed(blocks.type, torch.zeros_like(blocks.values))
        table.add("cpy", [torch.zeros(3, 64), blocks], values, max_error=EXACT)
        table.add("cpy", [zeros, values], blocks, max_error=EXACT)


def plain(random, *shape, types=FLOAT_TYPES[1:] + [torch.int32]):
    for dtype in types:
        if dtype in INTEGER_TYPES:
            yield random.integers(-99, 100, *shape, dtype=dtype)
        else:
            yield random.normal(*shape, dtype=dtype)


def cases(table):
    conversions(table)
    for op in ("cont", "dup"):
        for x in plain(table.random(op), 2, 3, 5):
            table.add(op, [x], x.clone(), max_error=EXACT)

    random = table.random("set")
    for start, shape in [([1, 2, 0, 0], (2, 3)), ([0, 0, 1, 0], (1, 5, 4))]:
        dst, x = random.normal(2, 5, 6), random.normal(*shape)
        result = dst.clone()
        at = list(reversed(start))
        window = result
        for dim, size in zip(range(3), (1,) * (3 - len(shape)) + shape):
            window = window.narrow(dim, at[dim + 1], size)
        window.copy_(x)
        table.add("set", [dst, x], result, max_error=EXACT, start=start)

    random = table.random("repeat")
    for x in plain(random, 2, 3, 4):
        table.add("repeat", [x], x.repeat(2, 1, 3, 2), max_error=EXACT, shape=[8, 9, 2, 2])

    random = table.random("concat")
    for dim in range(4):
        shape = [2, 3, 4, 5]
        a = random.normal(*shape)
        shape[3 - dim] = 2
        b = random.normal(*shape)
        table.add("concat", [a, b], torch.cat([a, b], dim=3 - dim), max_error=EXACT, dim=dim)
    a, b = random.integers(-9, 9, 3, 4), random.integers(-9, 9, 1, 4)
    table.add("concat", [a, b], torch.cat([a, b]), max_error=EXACT, dim=1)

    random = table.random("pad")
    before, after = [1, 0, 2, 1], [2, 3, 0, 0]
    amounts = [n for pair in zip(before, after) for n in pair]  # torch, too: innermost first
    for x in plain(random, 1, 2, 3, 4):
        table.add("pad", [x], F.pad(x, amounts, value=2), max_error=EXACT, before=before,
                  after=after, padding="constant", value=2.0)
    x = random.normal(1, 2, 4, 5)
    table.add("pad", [x], F.pad(x, [2, 1, 0, 3], mode="circular"), max_error=EXACT,
              before=[2, 0, 0, 0], after=[1, 3, 0, 0], padding="circular")
    random = table.random("pad_reflect_1d")
    for before, after in [(2, 1), (0, 4), (4, 0)]:
        x = random.normal(2, 3, 5)
        table.add("pad_reflect_1d", [x], F.pad(x, [before, after], mode="reflect"),
                  max_error=EXACT, before=before, after=after)
    random = table.random("roll")
    for shift in ([1, 0, 0, 0], [-2, 3, 0, 1], [7, -9, 1, 0]):
        x = random.normal(2, 3, 4, 5)
        result = torch.roll(x, list(reversed(shift)), dims=(0, 1, 2, 3))
        table.add("roll", [x], result, max_error=EXACT, shift=shift)

    random = table.random("diag")
    for x in plain(random, 2, 3, 1, 4):
        table.add("diag", [x], torch.diag_embed(x.squeeze(2)), max_error=EXACT)
    random = table.random("tri")
    for shape in [(2, 4, 4), (3, 5), (5, 3)]:
        x = random.normal(*shape)
        for diagonal in (True, False):
            table.add("tri", [x], torch.tril(x, 0 if diagonal else -1), max_error=EXACT,
                      triangle="lower", diagonal=diagonal)
            table.add("tri", [x], torch.triu(x, 0 if diagonal else 1), max_error=EXACT,
                      triangle="upper", diagonal=diagonal)
    random = table.random("diag_mask_inf")
    for n_past in (0, 2, 9):
        x = random.normal(2, 4, 7)
        later = torch.ones(4, 7).triu(n_past + 1).bool()
        table.add("diag_mask_inf", [x], x.masked_fill(later, -INFINITY), max_error=EXACT,
                  n_past=n_past)

    for start, stop, step in [(0, 5, 1), (0.5, 3.2, 0.3), (7, -2, -1.5)]:
        result = torch.arange(start, stop, step, dtype=torch.float64)
        table.add("arange", [], result, max_error=ELEMENT, start=start, stop=stop, step=step)
    for dtype, value in [(torch.float32, 0.1), (torch.bfloat16, 3.14), (torch.int32, 7.0)]:
        table.add("fill", [], torch.full((2, 3), value, dtype=torch.float32).to(dtype),
                  max_error=EXACT, shape=[3, 2, 1, 1], value=value, type=TYPES[dtype])

    random = table.random("timestep_embedding")
    for dim, max_period in [(8, 10000.0), (7, 10000.0), (12, 100.0)]:
        t = random.uniform(0, 50, 5)
        half = dim // 2
        angles = torch.outer(t.double(), torch.logspace(
            0, -(half - 1) / half, half, base=f32(max_period), dtype=torch.float64))
        result = F.pad(torch.cat([angles.cos(), angles.sin()], dim=1), [0, dim % 2])
        table.add("timestep_embedding", [t], result, max_error=SUM, dim=dim,
                  max_period=max_period)

    random = table.random("upscale")
    x = random.normal(1, 2, 4, 5)
    for size in [(8, 10), (7, 3), (2, 9), (1, 1)]:
        to = {"width": size[1], "height": size[0]}
        # "nearest" itself computes places in F32.
        table.add("upscale", [x], F.interpolate(x, size=size, mode="nearest"), max_error=EXACT,
                  interpolation="nearest", **to)
        for mode in ("bilinear", "bicubic"):
            for how in ({}, {"align_corners": True}, {"antialias": True}):
                result = F.interpolate(x.double(), size=size, mode=mode, **how)
                table.add("upscale", [x], result, interpolation=mode, **how, **to)
    for dtype in FLOATS[1:]:
        x = random.normal(1, 2, 4, 5, dtype=dtype)
        for mode, error in (("nearest", EXACT), ("bicubic", ROUNDING[dtype])):
            result = F.interpolate(x.double(), size=(8, 10), mode=mode)
            table.add("upscale", [x], result.to(dtype), interpolation=mode, max_error=error,
                      width=10, height=8)
