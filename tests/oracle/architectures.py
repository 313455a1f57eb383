#!/usr/bin/env python3
"""Makes architectures/*.json: tiny models of the architectures of GGUF files, and the logits that transformers computes.
See README.md.

usage: architectures.py [--no-check] [NAME...]    (of models, or beginnings of names; all without)
"""

import base64
import json
import pathlib
import sys

sys.path.append(sys.path.pop(0))  # this folder has a tokenizers.py, which is not the package

import numpy as np
import torch

from tiny_models import dense, encoders, experts, gemma, model, recurrent, rerankers

FAMILIES = (dense, gemma, experts, recurrent, encoders, rerankers)
FOLDER = pathlib.Path(__file__).parent / "architectures"


def number(x):
    """Floats as a file holds them, in F32."""
    return float(np.float32(x)) if isinstance(x, float) else x


def write(tiny, tensors, tokens, logits, difference):
    keys = {name: [number(v) for v in x] if isinstance(x, list) else number(x) for name, x in tiny.keys.items()}
    fields = {
        "architecture": tiny.architecture,
        "from": type(tiny.config).model_type,
        "notes": tiny.notes,
        "keys": keys,
        "tokens": tokens,
        "types": tiny.types or "",
        "vocabulary": tiny.config.vocab_size,
        "float32_difference": float(f"{difference:.3g}"),
    }
    lines = [f"{json.dumps(name)}: {json.dumps(x)}" for name, x in fields.items() if x != ""]
    rows = [json.dumps([name, list(reversed(shape)), scale, offset]) for name, (shape, scale, offset) in tensors.items()]
    lines.append('"tensors": [\n' + ",\n".join(rows) + "\n]")
    lines.append(f'"{tiny.result}": "{base64.b64encode(logits.astype("<f4").tobytes()).decode()}"')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (FOLDER / f"{tiny.name}.json").write_text(text)
    return len(text)


def main(arguments):
    check = "--no-check" not in arguments
    wanted = tuple(a for a in arguments if not a.startswith("--"))
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    names, bad = set(), 0
    for family in FAMILIES:
        for tiny in family.models():
            assert tiny.name not in names, f"two models are named {tiny.name}"
            names.add(tiny.name)
            if wanted and not tiny.name.startswith(wanted):
                continue
            *recorded, complaints = model.record(tiny, check)
            size = write(tiny, *recorded)
            logits, difference = recorded[2:]
            print(f"{tiny.name}: {size} bytes, values of {logits.std():.2g}, float32 differs by {difference:.2g}")
            for text in complaints:
                print(f"  {text}")
            bad += len(complaints)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
