"""Windows over images. Parameters are for x first, torch's for the outermost axis first."""

from .common import *

WINDOWS = [
    {},
    {"stride": [2, 1], "pad": [1, 2]},
    {"stride": [1, 3], "pad": [0, 1], "dilation": [2, 1]},
    {"pad": [2, 1], "dilation": [1, 2]},
]
WINDOWS_3D = [
    {},
    {"stride": [2, 1, 1], "pad": [1, 0, 2]},
    {"stride": [1, 2, 1], "pad": [1, 0, 1], "dilation": [2, 1, 2]},
]
WINDOWS_1D = [{}, {"stride": 2, "pad": 1}, {"stride": 3, "pad": 0, "dilation": 2}]


def typed(windows):
    """All of them with F32, one of them with other types."""
    for dtype in FLOATS:
        for window in windows if dtype == torch.float32 else windows[1:2]:
            yield dtype, window


def for_torch(window):
    names = {"pad": "padding"}
    return {names.get(name, name): value if isinstance(value, int) else tuple(reversed(value))
            for name, value in window.items()}


def unfold_3d(x, kernel, stride, pad, dilation):
    """[N, C, D, H, W] to [N, positions..., C * windows'], for which torch has no function."""
    x = F.pad(x, [p for p in pad for _ in range(2)])
    for axis in range(3):  # x, y, z: dimensions 4, 3, 2
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        x = x.unfold(4 - axis, reach, stride[axis])[..., :: dilation[axis]]
    # [N, C, pz, py, px, KW, KH, KD]
    return x.permute(0, 2, 3, 4, 1, 7, 6, 5).flatten(4)


def convolutions(table):
    random = table.random("conv_2d")
    for dtype, window in typed(WINDOWS):
        w, x = random.normal(4, 3, 2, 3, dtype=dtype), random.normal(2, 3, 4, 5)
        table.add("conv_2d", [w, x], F.conv2d(x.double(), w.double(), **for_torch(window)),
                  **window)
    for dtype in FLOATS[1:]:
        w, x = random.normal(4, 3, 2, 3), random.normal(2, 3, 4, 5, dtype=dtype)
        table.add("conv_2d", [w, x], F.conv2d(x.double(), w.double()))
    random = table.random("conv_2d_dw")
    for dtype, window in typed(WINDOWS):
        w, x = random.normal(3, 1, 2, 3, dtype=dtype), random.normal(2, 3, 4, 5)
        result = F.conv2d(x.double(), w.double(), groups=3, **for_torch(window))
        table.add("conv_2d_dw", [w, x], result, **window)
    for dtype in FLOATS[1:]:
        w, x = random.normal(3, 1, 2, 3), random.normal(2, 3, 4, 5, dtype=dtype)
        table.add("conv_2d_dw", [w, x], F.conv2d(x.double(), w.double(), groups=3))
    random = table.random("conv_3d")
    for dtype, window in typed(WINDOWS_3D):
        w, x = random.normal(3, 2, 2, 1, 3, dtype=dtype), random.normal(2, 2, 3, 3, 4)
        result = F.conv3d(x.double(), w.double(), **for_torch(window))
        table.add("conv_3d", [w.flatten(0, 1), x.flatten(0, 1)], result.flatten(0, 1),
                  channels=2, **window)
    for dtype in FLOATS[1:]:
        w, x = random.normal(3, 2, 2, 1, 3), random.normal(2, 2, 3, 3, 4, dtype=dtype)
        table.add("conv_3d", [w.flatten(0, 1), x.flatten(0, 1)],
                  F.conv3d(x.double(), w.double()).flatten(0, 1), channels=2)
    random = table.random("conv_transpose_1d")
    for dtype, window in typed(WINDOWS_1D):
        w, x = random.normal(3, 2, 4, dtype=dtype), random.normal(2, 3, 5)
        result = F.conv_transpose1d(x.double(), w.double(), **for_torch(window))
        table.add("conv_transpose_1d", [w, x], result, **window)
    for dtype in FLOATS[1:]:
        w, x = random.normal(3, 2, 4), random.normal(2, 3, 5, dtype=dtype)
        table.add("conv_transpose_1d", [w, x], F.conv_transpose1d(x.double(), w.double()))
    random = table.random("conv_transpose_2d")
    for dtype, window in typed(WINDOWS[:2] + [{"stride": [3, 2], "dilation": [2, 1]}]):
        w, x = random.normal(3, 2, 3, 2, dtype=dtype), random.normal(2, 3, 3, 4)
        result = F.conv_transpose2d(x.double(), w.double(), **for_torch(window))
        table.add("conv_transpose_2d", [w, x], result, **window)
    for dtype in FLOATS[1:]:
        w, x = random.normal(3, 2, 3, 2), random.normal(2, 3, 3, 4, dtype=dtype)
        table.add("conv_transpose_2d", [w, x], F.conv_transpose2d(x.double(), w.double()))


def unfolding(table):
    random = table.random("im2col")
    for window in WINDOWS:
        x = random.normal(2, 3, 4, 5)
        rows = F.unfold(x, (2, 3), **for_torch(window)).mT
        reach = window.get("dilation", [1, 1])[0] * 2 + 1
        across = (5 + 2 * window.get("pad", [0, 0])[0] - reach) // window.get("stride", [1, 1])[0]
        result = rows.unflatten(1, (-1, across + 1))
        table.add("im2col", [x], result, max_error=EXACT, kernel=[3, 2], **window)
        if window == WINDOWS[0]:
            for dtype in FLOATS[1:]:
                table.add("im2col", [x], result.to(dtype), max_error=EXACT, kernel=[3, 2],
                          type=TYPES[dtype], **window)
    for dtype in FLOATS[1:]:
        x = random.normal(2, 3, 4, 5, dtype=dtype)
        result = F.unfold(x.double(), (2, 3)).mT.unflatten(1, (-1, 3))
        for to in (dtype, torch.float32):
            table.add("im2col", [x], result.to(to), max_error=EXACT, kernel=[3, 2], type=TYPES[to])
    random = table.random("im2col_3d")
    for window in WINDOWS_3D:
        x = random.normal(2, 2, 3, 3, 4)
        all_of_it = {"stride": [1, 1, 1], "pad": [0, 0, 0], "dilation": [1, 1, 1]} | window
        result = unfold_3d(x, [3, 1, 2], **all_of_it)
        table.add("im2col_3d", [x.flatten(0, 1)], result.flatten(0, 1), max_error=EXACT,
                  channels=2, kernel=[3, 1, 2], **window)
    for dtype in FLOATS[1:]:
        x = random.normal(2, 2, 3, 3, 4, dtype=dtype)
        result = unfold_3d(x, [3, 1, 2], [1, 1, 1], [0, 0, 0], [1, 1, 1])
        table.add("im2col_3d", [x.flatten(0, 1)], result.flatten(0, 1), max_error=EXACT,
                  channels=2, kernel=[3, 1, 2], type=TYPES[dtype])
    random = table.random("col2im_1d")
    for dtype, window in typed(WINDOWS_1D):
        x = random.normal(2, 6, 4 * 3, dtype=dtype)
        stride, pad, dilation = (window.get(name, other) for name, other in
                                 (("stride", 1), ("pad", 0), ("dilation", 1)))
        length = 5 * stride + dilation * 2 + 1 - 2 * pad
        result = F.fold(x.double().mT, (1, length), (1, 3), dilation=(1, dilation),
                        padding=(0, pad), stride=(1, stride)).squeeze(2)
        table.add("col2im_1d", [x], result, kernel=3, **window)


def pooling(table):
    random = table.random("pool_2d")
    for kernel, window in [([2, 3], {}), ([3, 2], {"stride": [2, 1], "pad": [1, 1]}),
                           ([3, 3], {"stride": [3, 2], "pad": [2, 0]})]:
        x = random.normal(2, 3, 4, 5)
        stride = tuple(reversed(window.get("stride", [1, 1])))
        sides = [p for p in window.get("pad", [0, 0]) for _ in range(2)]
        size = tuple(reversed(kernel))
        # torch wants less padding than half of the kernel, so that it is done before.
        largest = F.max_pool2d(F.pad(x.double(), sides, value=-INFINITY), size, stride)
        average = F.avg_pool2d(F.pad(x.double(), sides), size, stride)
        table.add("pool_2d", [x], largest, max_error=EXACT, pooling="max", kernel=kernel, **window)
        table.add("pool_2d", [x], average, pooling="average", kernel=kernel, **window)
    x = random.normal(1, 2, 5, 6)
    result = F.avg_pool2d(x.double(), 3, 2, padding=1, count_include_pad=True)
    table.add("pool_2d", [x], result, pooling="average", kernel=[3, 3], stride=[2, 2], pad=[1, 1],
              what="torch's own padding")
    for dtype in FLOATS[1:]:
        x = random.normal(1, 2, 5, 6, dtype=dtype)
        table.add("pool_2d", [x], F.max_pool2d(x.double(), 3, 2).to(dtype), max_error=EXACT,
                  pooling="max", kernel=[3, 3], stride=[2, 2])
        table.add("pool_2d", [x], F.avg_pool2d(x.double(), 3, 2).to(dtype),
                  max_error=ROUNDING[dtype], pooling="average", kernel=[3, 3], stride=[2, 2])
    random = table.random("pool_1d")
    for kernel, stride, pad in [(2, 1, 0), (3, 2, 1), (4, 4, 2)]:
        x = random.normal(2, 3, 9)
        window = {"kernel": kernel, "stride": stride, "pad": pad}
        table.add("pool_1d", [x], F.max_pool1d(x.double(), kernel, stride, pad), max_error=EXACT,
                  pooling="max", **window)
        table.add("pool_1d", [x], F.avg_pool1d(x.double(), kernel, stride, pad),
                  pooling="average", **window)
    for dtype in FLOATS[1:]:
        x = random.normal(2, 3, 9, dtype=dtype)
        table.add("pool_1d", [x], F.max_pool1d(x.double(), 2, 2).to(dtype), max_error=EXACT,
                  pooling="max", kernel=2, stride=2)
        table.add("pool_1d", [x], F.avg_pool1d(x.double(), 2, 2).to(dtype),
                  max_error=ROUNDING[dtype], pooling="average", kernel=2, stride=2)


def cases(table):
    convolutions(table)
    unfolding(table)
    pooling(table)
