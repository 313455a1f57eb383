#!/usr/bin/env python3
"""Makes expected/*.json: inputs and what PyTorch makes of them. See README.md."""

import json
import math
import pathlib
import sys

import torch

from cases import (activation, attention, convolution, data, elementwise, matrix, norm, order,
                   reduce, rows, state, training, unary, view)
from cases.common import EXACT, SUM, TYPES, Typed, Random, f32

FAMILIES = (activation, attention, convolution, data, elementwise, matrix, norm, order, reduce,
            rows, state, training, unary, view)


def number(x, most_digits):
    """The fewest digits that give an F32 back, or a name where JSON has no number."""
    if math.isnan(x):
        return '"nan"'
    if math.isinf(x):
        return '"inf"' if x > 0 else '"-inf"'
    for digits in range(1, most_digits):
        text = f"{x:.{digits}g}"
        if f32(float(text)) == x:
            return text if text != "-0" else "-0.0"  # or it is read as an integer
    return f"{x:.{most_digits}g}"


def to_text(tensor, digits=9):
    type = tensor.type if isinstance(tensor, Typed) else TYPES[tensor.dtype]
    values = tensor.values if isinstance(tensor, Typed) else tensor
    sizes = list(reversed(values.shape)) or [1]
    flat = values.reshape(-1)
    if type.startswith("I"):
        texts = [str(x) for x in flat.tolist()]
    elif type == "F64":
        texts = [json.dumps(x) for x in flat.tolist()]
    else:
        texts = [number(x, digits) for x in flat.float().tolist()]
    return f'{{"type": "{type}", "sizes": {sizes}, "values": [{", ".join(texts)}]}}'


class Table:
    """The cases of a family."""

    def __init__(self):
        self.lines = []

    def random(self, name):
        return Random(name)

    def add(self, op, sources, result, *, max_error=SUM, written=None, what="", **params):
        """An op applied to sources (None where an optional one is not given) gives `result`: a
        double is stored as F32. `written` says what
        sources hold afterwards, by their numbers."""

        def stored(x):
            return x.float() if not isinstance(x, Typed) and x.dtype == torch.float64 else x

        sources = list(sources)
        while sources and sources[-1] is None:
            sources.pop()
        # A rounding of 1e-16 is nothing beside any error but none.
        digits = 9 if max_error == EXACT else 8
        fields = [f'"op": "{op}"', f'"what": {json.dumps(what)}']
        fields.append(f'"params": {json.dumps(params)}')
        texts = ["null" if x is None else to_text(x) for x in sources]
        fields.append('"sources": [\n  ' + ",\n  ".join(texts) + "]")
        fields.append('"result":\n  ' + to_text(stored(result), digits))
        if written:
            texts = [f'"{i}": {to_text(stored(x), digits)}' for i, x in written.items()]
            fields.append('"written": {\n  ' + ",\n  ".join(texts) + "}")
        fields.append(f'"max_error": {max_error}')
        self.lines.append("{" + ", ".join(fields) + "}")


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).parent / "expected"
    folder.mkdir(exist_ok=True)
    for family in FAMILIES:
        table = Table()
        family.cases(table)
        name = family.__name__.rsplit(".", 1)[-1]
        text = "[\n" + ",\n".join(table.lines) + "\n]\n"
        (folder / f"{name}.json").write_text(text)
        print(f"{name}: {len(table.lines)} cases, {len(text)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
