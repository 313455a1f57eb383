#!/usr/bin/env python3
"""Makes published/*.json: the Hugging Face folders of the models of architectures.py, as transformers saves them. Each has
config.json, and for each tensor how it is made of the tensors of architectures/NAME.json. See README.md.

usage: published.py [NAME...]    (of models, or beginnings of names; all without)
"""

import collections
import json
import pathlib
import re
import struct
import sys
import tempfile

import numpy as np
import torch

from tiny_models import dense, encoders, experts, gemma, generator, recurrent, rerankers
from tiny_models.model import Loaded

FAMILIES = (dense, gemma, experts, recurrent, encoders, rerankers)
FOLDER = pathlib.Path(__file__).parent / "published"
# Settings of training and generation.
IDLE = ("architectures", "dtype", "transformers_version", "use_cache", "initializer_range", "attention_dropout", "output_router_logits",
        "router_aux_loss_coef", "bos_token_id", "eos_token_id", "pad_token_id")
FUNCTION = 1 << 40  # of the numbers of elements: multiples say what is done to the element
SAME, LESS_ONE, LOG = range(3)


def function_of(rule, shapes, old):
    """What a rule does to each number."""
    constant = [torch.full(shape, -3.0, dtype=torch.float64) for shape in shapes]
    made = rule.join(constant, torch.ones_like(old)).flatten()[0].item()
    return {-3.0: SAME, -4.0: LESS_ONE}.get(made, LOG)


def numbered(loaded):
    """Sets each element of the parameters to the number of the element that it is made of."""
    starts, count = {}, 0
    for name, (shape, _, _) in loaded.tensors().items():
        starts[name] = count
        count += int(np.prod(shape))
    for name, (rule, names) in loaded.bound.items():
        if "inv_freq" in name:
            continue
        shapes = [loaded.shapes[n] for n in names]
        function = function_of(rule, shapes, loaded.old[name])
        numbers = [torch.arange(int(np.prod(s)), dtype=torch.float64).reshape(s) + starts[n] for s, n in zip(shapes, names)]
        if function == LOG:
            made = (torch.exp(rule.join([-(x + 2) for x in numbers], loaded.old[name].double())) - 2).round()
        else:
            made = rule.join(numbers, loaded.old[name].double()) + (1 if function == LESS_ONE else 0)
        with torch.no_grad():
            loaded.parameters[name].copy_(made + function * FUNCTION)
    return starts


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + x for x in entry["data_offsets"])
            kind = {"F64": "<f8", "F32": "<f4"}[entry["dtype"]]  # F32: of few numbers, which are exact
            tensors[name] = np.frombuffer(data[begin:end], dtype=kind).reshape(entry["shape"]).astype(np.int64)
    return tensors


def runs(numbers):
    """Numbers as [start, count, stride, count, stride, ...], innermost first, one list after another."""
    pieces = [(int(x), ()) for x in numbers]
    while True:
        joined, i = [], 0
        while i < len(pieces):
            start, loops = pieces[i]
            n = 1
            if i + 1 < len(pieces) and pieces[i + 1][1] == loops:
                stride = pieces[i + 1][0] - start
                while i + n < len(pieces) and pieces[i + n] == (start + n * stride, loops):
                    n += 1
            joined.append((start, loops + (n, stride)) if n > 1 else (start, loops))
            i += n
        if len(joined) == len(pieces):
            return [[start, *loops] for start, loops in pieces]
        pieces = joined


def pieces_of(numbers, starts):
    """[function, [tensor, start, count, stride, ...], ...]. A stride may lead into another tensor: they follow each other."""
    flat = numbers.flatten()
    functions = set((flat // FUNCTION).tolist())
    assert len(functions) == 1
    names, bounds = list(starts), np.array(list(starts.values()))
    result = []
    for start, *loops in runs(flat % FUNCTION):
        tensor = names[np.searchsorted(bounds, start, side="right") - 1]
        result.append([tensor, start - starts[tensor], *loops])
    return [functions.pop(), *result]


def record(tiny):
    loaded = Loaded(tiny, torch.float64)
    starts = numbered(loaded)
    with tempfile.TemporaryDirectory() as folder:
        loaded.model.save_pretrained(folder)
        tensors = read_safetensors(pathlib.Path(folder) / "model.safetensors")
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    rope = config.get("rope_parameters", {})
    for kind in ("short", "long") if rope.get("rope_type") == "longrope" else ():
        shape, scale, offset = loaded.tensors()[f"rope_factors_{kind}.weight"]
        rope[f"{kind}_factor"] = generator.values(f"rope_factors_{kind}.weight", shape, scale, offset).tolist()
    made = {name: (list(x.shape), pieces_of(x, starts)) for name, x in tensors.items()}
    return {name: x for name, x in config.items() if name not in IDLE}, made


def grouped(made):
    """Tensors that differ by the numbers of layer and expert only: [name, layers, experts, shape, pieces]. In names, {} is
    the layer and # the expert; pieces of experts are those of the first, and the distance to those of the next is a number."""
    rows = collections.OrderedDict()
    for name, (shape, pieces) in made.items():
        layer = match[1] if (match := re.search(r"\blayers?\.(\d+)\.", name)) else ""
        expert = match[1] if (match := re.search(r"\bexperts\.(\d+)\.", name)) else ""
        general = re.sub(r"\b(layers?)\.\d+\.", r"\1.{}.", name)
        general = re.sub(r"\bexperts\.\d+\.", "experts.#.", general)
        first = [[re.sub(r"^blk\.\d+\.", "blk.{}.", p[0]), *p[1:]] for p in pieces[1:]]
        key = (general, json.dumps(shape), layer)
        rows.setdefault(key, []).append((expert, [pieces[0], *first]))
    layered = collections.OrderedDict()
    for (general, shape, layer), found in rows.items():
        distance = 0
        if found[0][0] != "":
            found.sort(key=lambda x: int(x[0]))
            base = found[0][1]
            distance = found[1][1][1][1] - base[1][1] if len(found) > 1 else 0
            for number, (expert, pieces) in enumerate(found):
                assert int(expert) == number
                assert pieces == [base[0], *[[p[0], p[1] + number * distance, *p[2:]] for p in base[1:]]], general
        key = (general, shape, len(found) if found[0][0] != "" else 0, distance, json.dumps(found[0][1]))
        layered.setdefault(key, []).append(layer)
    return [[general, [int(x) for x in layers if x != ""], experts, distance, json.loads(shape), *json.loads(pieces)]
            for (general, shape, experts, distance, pieces), layers in layered.items()]


def main(arguments):
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    total = 0
    for family in FAMILIES:
        for tiny in family.models():
            if arguments and not tiny.name.startswith(tuple(arguments)):
                continue
            config, made = record(tiny)
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in grouped(made))
            text = f'{{\n"config": {json.dumps(config)},\n"tensors": [\n{rows}\n]\n}}\n'
            (FOLDER / f"{tiny.name}.json").write_text(text)
            total += len(text)
            print(f"{tiny.name}: {len(text)} bytes, {len(made)} tensors")
    print(f"{total} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
