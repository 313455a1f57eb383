"""Softmax, rope, attention."""

from .common import *


def slopes(max_bias, heads):
    """ALiBi: the recursion of the paper's authors, with their 8 as max_bias."""

    def of_power_of_two(n):
        start = 2 ** (-max_bias / n)
        return [start * start**i for i in range(n)]

    if max_bias == 0:
        return torch.ones(heads, 1, 1, dtype=torch.float64)
    closest = 2 ** math.floor(math.log2(heads))
    rest = of_power_of_two(2 * closest)[0::2][: heads - closest]
    return tensor(of_power_of_two(closest) + rest, torch.float64).reshape(heads, 1, 1)


def causal(tokens, keys, dtype=torch.float32):
    return torch.full((tokens, keys), -INFINITY).triu(keys - tokens + 1).to(dtype)


def softmax_with_sinks(z, sinks):
    """A sink is one more column, which is left out again."""
    if sinks is None:
        return F.softmax(z, dim=-1)
    column = sinks.double().reshape(-1, 1, 1).expand(*z.shape[:-1], 1)
    return F.softmax(torch.cat([z, column], dim=-1), dim=-1)[..., :-1]


def softmax_cases(table):
    random = table.random("softmax")
    masks = [None, causal(2, 6), causal(2, 6, torch.float16), random.normal(2, 1, 2, 6),
             random.normal(1, 5, 2, 6, dtype=torch.float16)]
    for mask in masks:
        for scale, max_bias, sinks in [(1.0, 0.0, None), (0.3, 8.0, None),
                                       (0.7, 0.0, random.normal(5)), (0.7, 4.0, random.normal(5))]:
            if mask is None and max_bias:
                continue
            x = random.normal(2, 5, 2, 6, scale=2)
            z = x.double() * f32(scale)
            if mask is not None:
                z = z + slopes(max_bias, 5) * mask.double()
            params = {"scale": scale} | ({"max_bias": max_bias} if max_bias else {})
            table.add("softmax", [x, mask, sinks], softmax_with_sinks(z, sinks), **params)
    for dtype in FLOATS[1:]:
        x = random.normal(3, 11, dtype=dtype)
        table.add("softmax", [x, None, None], F.softmax(x.double(), dim=-1))


def attention_cases(table):
    def emit(k_type, v_type, error, d, dv, mask=None, scale=0.4, softcap=0.0, max_bias=0.0,
             with_sinks=False, heads=4, kv_heads=2, keys=6, tokens=2, sequences=1, what=""):
        q = random.normal(sequences, tokens, heads, d)
        k, v = (type(sequences, keys, kv_heads, size) if callable(type)
                else random.normal(sequences, keys, kv_heads, size, dtype=type)
                for type, size in ((k_type, d), (v_type, dv)))
        sinks = random.normal(heads) if with_sinks else None
        heads_first = [x.double().transpose(1, 2) for x in (q, k, v)]
        params = {"scale": scale}
        bias = None if mask is None else mask.double()
        if max_bias:
            bias = bias * slopes(max_bias, heads)
            params["max_bias"] = max_bias
        if softcap:
            params["softcap"] = softcap
        if softcap or with_sinks:
            shared = [x.repeat_interleave(heads // kv_heads, dim=1) for x in heads_first[1:]]
            scores = heads_first[0] @ shared[0].mT * f32(scale)
            if softcap:
                scores = softcap * torch.tanh(scores / softcap)
            scores = scores if bias is None else scores + bias
            result = softmax_with_sinks(scores, sinks) @ shared[1]
        else:
            if bias is not None:
                bias = bias.expand(sequences, heads, tokens, keys)
            result = F.scaled_dot_product_attention(*heads_first, attn_mask=bias,
                                                    scale=f32(scale), enable_gqa=True)
        table.add("attention", [q, k, v, mask, sinks], result.transpose(1, 2), max_error=error,
                  what=what, **params)

    random = table.random("attention")
    f = torch.float32
    half = torch.float16
    emit(f, f, SUM, 8, 8, sequences=3)
    emit(f, f, SUM, 5, 7, heads=3, kv_heads=3, keys=1)
    emit(f, f, SUM, 16, 8, heads=6, kv_heads=1, mask=causal(2, 6))
    emit(f, f, SUM, 9, 4, keys=37, mask=causal(2, 37, half))
    emit(f, f, SUM, 8, 8, mask=random.normal(2, 1, 2, 6), sequences=2)
    emit(f, f, SUM, 8, 8, mask=random.normal(1, 4, 2, 6, dtype=half))
    emit(half, half, F16_PRODUCTS, 8, 8, mask=causal(2, 6))
    emit(torch.bfloat16, torch.bfloat16, BF16_PRODUCTS, 8, 8)
    emit(f, half, F16_PRODUCTS, 8, 12)
    # With more than a paper's attention.
    emit(f, f, SUM, 8, 8, mask=random.normal(1, 1, 2, 6), max_bias=8.0, heads=6, kv_heads=3)
    emit(f, f, SUM, 8, 8, softcap=1.5)
    emit(f, f, SUM, 8, 6, with_sinks=True, mask=causal(2, 6))
    emit(f, f, SUM, 8, 8, with_sinks=True, softcap=2.0, max_bias=4.0, mask=causal(2, 6))
    # As precisely as with F32, but for the blocks' own rounding, which there is none of here.
    for blocks, scale in ((random.q8_0, 0.003), (random.q4_0, 0.05)):
        emit(blocks, blocks, SUM, 32, 64, scale=scale, mask=causal(2, 6))


def is_seen(span, window, queries, keys):
    """Which keys queries see: positions [T, 1] and [1, N]. Masks as in the papers of the spans."""
    distance = queries - keys
    return {
        "causal": distance >= 0,
        "sliding window": (distance >= 0) & (distance < window),  # Longformer, Mistral
        "chunked": (distance >= 0) & (queries // max(window, 1) == keys // max(window, 1)),  # Llama 4
        "bidirectional": torch.ones_like(distance, dtype=torch.bool),
        "bidirectional window": distance.abs() <= window // 2,  # ModernBERT
    }[span]


def paged_attention_cases(table):
    """Keys and values are gathered from their blocks for each sequence, then it is attention."""
    random = table.random("paged_attention")

    def emit(lengths, type=torch.float32, error=SUM, d=8, dv=8, heads=4, kv_heads=2, block=16,
             span="causal", window=0, scale=0.4, softcap=0.0, max_bias=0.0, mask_heads=0,
             with_sinks=False, what=""):
        """lengths: (tokens, keys) of each sequence."""
        counts = [-(-keys // block) for _, keys in lengths]
        rows = (sum(counts) + 1) * block
        tokens = sum(count for count, _ in lengths)
        q = random.normal(1, tokens, heads, d)
        k, v = (type(1, rows, kv_heads, size) if callable(type)
                else random.normal(1, rows, kv_heads, size, dtype=type) for size in (d, dv))
        sinks = random.normal(heads) if with_sinks else None
        most = max((keys for _, keys in lengths), default=1)
        mask = random.normal(mask_heads, tokens, most) if mask_heads else None
        # Blocks from the last one down, so that none is where its number in the table says.
        blocks = [sum(counts) - i for i in range(sum(counts))]
        columns, results = [], []
        end = entry = 0
        for (count, keys), of_sequence in zip(lengths, counts):
            own = blocks[entry:entry + of_sequence]
            row_ids = torch.tensor([own[n // block] * block + n % block for n in range(keys)],
                                   dtype=torch.long)
            queries = q[0, end:end + count].double().transpose(0, 1)
            shared = [x.double()[0, row_ids].transpose(0, 1).repeat_interleave(
                heads // kv_heads, dim=0) for x in (k, v)]
            positions = torch.arange(keys - count, keys).reshape(-1, 1)
            places = torch.arange(keys).reshape(1, -1)
            bias = torch.zeros(1, count, keys, dtype=torch.float64)
            if mask is not None:
                bias = bias + mask.double()[:, end:end + count, :keys]
            if max_bias:
                bias = slopes(max_bias, heads) * (bias - (positions - places).abs())
            bias = bias.expand(heads, count, keys).masked_fill(
                ~is_seen(span, window, positions, places), -INFINITY)
            if softcap or with_sinks:
                scores = queries @ shared[0].mT * f32(scale)
                if softcap:
                    scores = softcap * torch.tanh(scores / softcap)
                result = softmax_with_sinks(scores + bias, sinks) @ shared[1]
            else:
                result = F.scaled_dot_product_attention(queries, shared[0], shared[1],
                                                        attn_mask=bias, scale=f32(scale))
            results.append(result.transpose(0, 1))
            end += count
            columns.append([end, keys, entry])
            entry += of_sequence
        params = {"scale": scale, "block": block}
        for name, value in (("span", span), ("window", window), ("max_bias", max_bias),
                            ("softcap", softcap)):
            if value and value != "causal":
                params[name] = value
        table.add("paged_attention",
                  [q, k, v, torch.tensor(columns, dtype=torch.int32),
                   torch.tensor(blocks, dtype=torch.int32), mask, sinks],
                  torch.cat(results).unsqueeze(0), max_error=error, what=what, **params)

    several = [(1, 20), (3, 3), (2, 17)]
    emit([(1, 5)])
    emit(several)
    emit(several, heads=3, kv_heads=3, d=5, dv=7)
    emit(several, span="sliding window", window=4)
    emit(several, span="chunked", window=6)
    emit(several, span="bidirectional")
    emit(several, span="bidirectional window", window=7)
    emit(several, max_bias=8.0, heads=6)
    emit(several, softcap=1.5)
    emit(several, with_sinks=True)
    emit(several, mask_heads=1)
    emit(several, mask_heads=4, max_bias=4.0, softcap=2.0, with_sinks=True, span="sliding window",
         window=9)
    emit(several, type=torch.float16, error=F16_PRODUCTS)
    emit(several, type=torch.bfloat16, error=BF16_PRODUCTS)
    for quantised, scale in ((random.q8_0, 0.003), (random.q4_0, 0.05)):
        emit([(1, 18), (2, 3)], type=quantised, d=32, dv=64, heads=2, kv_heads=1, scale=scale)


def yarn(dims, base, scale, ext_factor, attn_factor, beta_fast, beta_slow, context, whole_pairs):
    """Frequencies and magnitude, as in the listing of the paper's authors."""
    inverse = 1.0 / base ** (torch.arange(0, dims, 2, dtype=torch.float64) / dims)
    if ext_factor == 0:
        return inverse * scale, attn_factor

    def correction_dim(rotations):
        return dims * math.log(context / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = correction_dim(beta_fast), correction_dim(beta_slow)
    if whole_pairs:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dims - 1)
    if low == high:
        high += 0.001
    ramp = ((torch.arange(dims // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    mask = (1 - ramp) * ext_factor
    magnitude = attn_factor * (0.1 * math.log(1 / scale) + 1.0)
    return inverse * scale * (1 - mask) + inverse * mask, magnitude


def rotate(x, positions, factors, *, dims, mode="normal", freq_base=10000.0, freq_scale=1.0,
           ext_factor=0.0, attn_factor=1.0, beta_fast=32.0, beta_slow=1.0, original_context=0,
           whole_pairs=True, sections=None):
    """x: [S, T, H, D]."""
    rotated, rest = x[..., :dims], x[..., dims:]
    turned = dims // 2 if mode == "vision" else dims
    frequencies, magnitude = yarn(turned, f32(freq_base), f32(freq_scale), f32(ext_factor),
                                  f32(attn_factor), f32(beta_fast), f32(beta_slow),
                                  original_context, whole_pairs)
    positions = positions.double()
    if mode == "vision":  # each section begins anew
        angles = torch.cat([torch.outer(p, frequencies[:n]) for p, n in zip(positions, sections)],
                           dim=-1)
    elif mode == "multi":
        angles = torch.einsum("pt,i->pti", positions, frequencies)
        parts = angles.split([n for n in sections if n], dim=-1)
        numbers = [i for i, n in enumerate(sections) if n]
        angles = torch.cat([part[i] for i, part in zip(numbers, parts)], dim=-1)
    else:
        angles = torch.outer(positions, frequencies)
    if factors is not None:
        angles = angles / factors
    angles = angles.unsqueeze(1)  # the same for all heads
    if mode == "normal":  # pairs are complex numbers, turned by a product
        pairs = torch.view_as_complex(rotated.unflatten(-1, (-1, 2)).contiguous())
        turned = pairs * torch.polar(torch.full_like(angles, magnitude), angles)
        rotated = torch.view_as_real(turned).flatten(-2)
    else:
        cos = torch.cat([angles.cos(), angles.cos()], dim=-1) * magnitude
        sin = torch.cat([angles.sin(), angles.sin()], dim=-1) * magnitude
        first, second = rotated.chunk(2, dim=-1)
        rotated = rotated * cos + torch.cat([-second, first], dim=-1) * sin
    return torch.cat([rotated, rest], dim=-1)


YARN = {"freq_scale": 0.25, "ext_factor": 1.0, "attn_factor": 0.9, "original_context": 64}
ROPES = [
    {"dims": 8},
    {"dims": 6, "mode": "neox"},
    {"dims": 8, "freq_base": 500.0, "freq_scale": 0.5, "attn_factor": 1.25},
    {"dims": 8, "mode": "neox"} | YARN,
    {"dims": 8} | YARN | {"ext_factor": 0.5, "beta_fast": 16.0, "beta_slow": 2.0},
    {"dims": 8, "mode": "multi", "sections": [1, 2, 1, 0]},
    {"dims": 8, "mode": "multi", "sections": [1, 1, 1, 1]} | YARN,
    {"dims": 8, "mode": "vision", "sections": [2, 2, 0, 0]},
    # Sections in which pairs are extrapolated, mixed and interpolated.
    {"dims": 16, "mode": "multi", "sections": [2, 3, 3, 0]} | YARN | {"original_context": 4096},
    {"dims": 16, "mode": "vision", "sections": [4, 4, 0, 0]} | YARN | {"original_context": 4096},
    {"dims": 16, "mode": "vision", "sections": [0, 3, 4, 1], "freq_base": 500.0} | YARN
    | {"ext_factor": 0.5, "beta_fast": 8.0, "beta_slow": 2.0, "original_context": 1024},
    {"dims": 16, "mode": "neox", "whole_pairs": False} | YARN | {"original_context": 4096},
]


def rope_inputs(random, params):
    """A source, positions, and factors."""
    x = random.normal(2, 3, 2, params["dims"] + 1 if params["dims"] > 8 else 9)
    four = params.get("mode") in ("multi", "vision")
    positions = random.integers(0, 40, *((4, 3) if four else (3,)))
    return x, positions, random.uniform(0.5, 4, params["dims"] // 2)


def rope_cases(table):
    random = table.random("rope")
    for params in ROPES:
        x, positions, factors = rope_inputs(random, params)
        for each in (None, factors):
            result = rotate(x.double(), positions, None if each is None else each.double(),
                            **params)
            table.add("rope", [x, positions, each], result, **params)
    for dtype in FLOATS[1:]:
        x, positions, _ = rope_inputs(random, ROPES[1])
        x = random.normal(*x.shape, dtype=dtype)
        table.add("rope", [x, positions, None], rotate(x.double(), positions, None, **ROPES[1]),
                  **ROPES[1])


def cases(table):
    softmax_cases(table)
    attention_cases(table)
    paged_attention_cases(table)
    rope_cases(table)
