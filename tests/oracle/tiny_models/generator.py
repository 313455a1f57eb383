"""The numbers of a tensor, which a test in any language can repeat bit for bit. See ../README.md."""

import numpy as np

MASK = (1 << 64) - 1


def fnv1a64(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def splitmix64(x):
    """x: an array of uint64, which wraps."""
    z = x + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def values(name, shape, scale, offset):
    """A tensor of a file. shape: outermost first, as numpy has it. Float32."""
    with np.errstate(over="ignore"):
        h = splitmix64(np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(fnv1a64(name)))
    unit = (h >> np.uint64(40)).astype(np.float64) / 2**23 - 1
    return (offset + scale * unit).astype(np.float32).reshape(shape)


def tokens(name, count, vocabulary):
    h = splitmix64(np.arange(count, dtype=np.uint64) + np.uint64(fnv1a64(name) >> 1))
    return [int(x) for x in h % np.uint64(vocabulary)]
