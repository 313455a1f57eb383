"""The same memory seen another way."""

from .common import *


def cases(table):
    random = table.random("view")
    x = random.normal(2, 3, 4, 6)
    table.add("reshape", [x], x.reshape(8, 18), max_error=EXACT, shape=[18, 8, 1, 1])
    table.add("reshape", [x], x.reshape(4, 3, 3, 4), max_error=EXACT, shape=[4, 3, 3, 4])
    table.add("transpose", [x], x.transpose(-1, -2), max_error=EXACT)
    # Dimension i of the result is dimension axes[i], both counted from the innermost.
    for axes in ([1, 0, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]):
        outer_first = [3 - a for a in reversed(axes)]
        table.add("permute", [x], x.permute(outer_first), max_error=EXACT, axes=axes)
    table.add("view", [x], x[1:2, 0:2, 2:4, 1:6], max_error=EXACT, start=[1, 2, 0, 1],
              shape=[5, 2, 2, 1])
    x = random.integers(-9, 9, 3, 7)
    table.add("view", [x], x.narrow(0, 1, 2).narrow(1, 3, 3), max_error=EXACT, start=[3, 1, 0, 0],
              shape=[3, 2, 1, 1])
