#!/usr/bin/env python3
"""Makes architectures/nomic-bert-moe*.json: transformers has no such model, so this is one of its own, in plain Python and double precision. Without
experts it is nomic-bert: the states of architectures/nomic-bert*.json, which transformers computed, are compared first.

usage: nomic_bert_moe.py
"""

import base64
import itertools
import json
import math
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "architectures"
MASK = (1 << 64) - 1
WIDTH, FEED, VOCABULARY, EXPERTS, USED, PERIOD, EPS = 32, 64, 48, 8, 2, 2, 2.0**-8


def fnv1a64(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def values(name, sizes, scale, offset):
    """The numbers of README.md's formula, in the order of the file."""
    seed, numbers = fnv1a64(name), []
    for i in range(math.prod(sizes)):
        z = (seed + i + 0x9E3779B97F4A7C15) & MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        unit = ((z ^ (z >> 31)) >> 40) / 2**23 - 1
        numbers.append(struct.unpack("<f", struct.pack("<f", offset + scale * unit))[0])
    return numbers


class Model:
    def __init__(self, record):
        self.keys, self.tokens = record["keys"], record["tokens"]
        self.margin = 1.0  # of the choice of experts
        self.weights = {name: values(name, sizes, scale, offset) for name, sizes, scale, offset in record["tensors"]}

    def linear(self, x, name, outputs, expert=0):
        w, b, n = self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"), len(x)
        start = expert * n * outputs
        return [sum(w[start + o * n + i] * x[i] for i in range(n)) + (b[o] if b else 0) for o in range(outputs)]

    def norm(self, x, name):
        mean = sum(x) / len(x)
        spread = math.sqrt(sum((v - mean) ** 2 for v in x) / len(x) + EPS)
        w, b = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return [(v - mean) / spread * w[i] + b[i] for i, v in enumerate(x)]

    def turned(self, head, position):
        half, result = len(head) // 2, head[:]
        for i in range(half):
            angle = position * self.keys["rope.freq_base"] ** (-i / half)
            c, s = math.cos(angle), math.sin(angle)
            result[i], result[i + half] = head[i] * c - head[i + half] * s, head[i] * s + head[i + half] * c
        return result

    def attention(self, states, layer):
        heads = self.keys["attention.head_count"]
        size = WIDTH // heads
        rows = [self.linear(x, f"blk.{layer}.attn_qkv", 3 * WIDTH) for x in states]
        mixed = [[] for _ in states]
        for h in range(heads):
            q, k, v = ([row[part * WIDTH + h * size:][:size] for row in rows] for part in range(3))
            q, k = ([self.turned(x, p) for p, x in enumerate(all)] for all in (q, k))
            for t, query in enumerate(q):
                scores = [math.exp(sum(a * b for a, b in zip(query, key)) / math.sqrt(size)) for key in k]
                mixed[t] += [sum(s * value[i] for s, value in zip(scores, v)) / sum(scores) for i in range(size)]
        return [self.linear(x, f"blk.{layer}.attn_output", WIDTH) for x in mixed]

    def feed(self, x, layer):
        name = f"blk.{layer}.ffn"
        gelu = lambda y: [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in y]
        if f"{name}_gate.weight" in self.weights:
            gate, up = self.linear(x, f"{name}_gate", FEED), self.linear(x, f"{name}_up", FEED)
            return self.linear([a / (1 + math.exp(-a)) * b for a, b in zip(gate, up)], f"{name}_down", WIDTH)
        if f"{name}_gate_inp.weight" not in self.weights:
            return self.linear(gelu(self.linear(x, f"{name}_up", FEED)), f"{name}_down", WIDTH)
        shares = [math.exp(v) for v in self.linear(x, f"{name}_gate_inp", EXPERTS)]
        order = sorted(range(EXPERTS), key=lambda e: -shares[e])
        self.margin = min(self.margin, 1 - shares[order[USED]] / shares[order[USED - 1]])
        result = [0.0] * WIDTH
        for e in order[:USED]:
            y = self.linear(gelu(self.linear(x, f"{name}_up_exps", FEED, e)), f"{name}_down_exps", WIDTH, e)
            result = [r + shares[e] / sum(shares) * v for r, v in zip(result, y)]
        return result

    def states(self):
        table, types = self.weights["token_embd.weight"], self.weights["token_types.weight"]
        embedded = [[table[t * WIDTH + i] + types[i] for i in range(WIDTH)] for t in self.tokens]
        x = [self.norm(row, "token_embd_norm") for row in embedded]
        add = lambda a, b: [u + v for u, v in zip(a, b)]
        for layer in range(self.keys["block_count"]):
            mixed = self.attention(x, layer)
            x = [self.norm(add(a, b), f"blk.{layer}.attn_output_norm") for a, b in zip(x, mixed)]
            x = [self.norm(add(a, self.feed(a, layer)), f"blk.{layer}.layer_output_norm") for a in x]
        return [v for row in x for v in row]


def tensors(layers):
    """[name, sizes, scale, offset]"""
    norm = lambda name: [[f"{name}.weight", [WIDTH], 0.5, 1.0], [f"{name}.bias", [WIDTH], 0.5, 0.0]]
    plain = lambda name, inputs, outputs: [[f"{name}.weight", [inputs, outputs], 0.25, 0.0], [f"{name}.bias", [outputs], 0.5, 0.0]]
    rows = [["token_embd.weight", [WIDTH, VOCABULARY], 0.5, 0.0], ["token_types.weight", [WIDTH, 1], 0.25, 0.0]] + norm("token_embd_norm")
    for layer in range(layers):
        name = f"blk.{layer}"
        rows += plain(f"{name}.attn_qkv", WIDTH, 3 * WIDTH) + plain(f"{name}.attn_output", WIDTH, WIDTH) + norm(f"{name}.attn_output_norm")
        if layer % PERIOD == 1:
            rows += [[f"{name}.ffn_gate_inp.weight", [WIDTH, EXPERTS], 0.5, 0.0], [f"{name}.ffn_up_exps.weight", [WIDTH, FEED, EXPERTS], 0.25, 0.0],
                     [f"{name}.ffn_down_exps.weight", [FEED, WIDTH, EXPERTS], 0.5, 0.0]]
        else:
            rows += plain(f"{name}.ffn_up", WIDTH, FEED) + plain(f"{name}.ffn_down", FEED, WIDTH)
        rows += norm(f"{name}.layer_output_norm")
    return rows


def main():
    for name in ("nomic-bert", "nomic-bert-large-heads"):
        record = json.loads((FOLDER / f"{name}.json").read_text())
        expected = struct.unpack(f"<{len(record['tokens']) * WIDTH}f", base64.b64decode(record["hidden"]))
        difference = max(abs(a - b) for a, b in zip(Model(record).states(), expected))
        print(f"{name}: differs from transformers by {difference:.2g}")
        assert difference < 1e-5
    for name, layers, heads in [("nomic-bert-moe", 3, 2), ("nomic-bert-moe-large-heads", 4, 1)]:
        size = WIDTH // heads
        keys = {"block_count": layers, "context_length": 64, "embedding_length": WIDTH, "feed_forward_length": FEED, "attention.head_count": heads,
                "attention.layer_norm_epsilon": EPS, "attention.key_length": size, "attention.value_length": size, "attention.causal": False,
                "rope.freq_base": 10000.0, "moe_every_n_layers": PERIOD, "expert_count": EXPERTS, "expert_used_count": USED}
        notes = "Of nomic_bert_moe.py. Experts have no gate; their weights are those of the softmax of all. gelu has erf."
        record = {"architecture": "nomic-bert-moe", "from": "nomic_bert_moe.py", "notes": notes, "keys": keys,
                  "tokens": [], "vocabulary": VOCABULARY, "float32_difference": 0.0,
                  "tensors": tensors(layers)}
        for attempt in itertools.count():  # until rounding can't change the choice of experts
            record["tokens"] = [fnv1a64(f"{name} {attempt} {i}") % VOCABULARY for i in range(40)]
            model = Model(record)
            states = model.states()
            if model.margin > 1e-2:
                break
        lines = [f"{json.dumps(field)}: {json.dumps(x)}" for field, x in record.items() if field != "tensors"]
        lines.append('"tensors": [\n' + ",\n".join(json.dumps(row) for row in record["tensors"]) + "\n]")
        lines.append(f'"hidden": "{base64.b64encode(struct.pack(f"<{len(states)}f", *states)).decode()}"')
        (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{name}: {len(states)} numbers, a margin of {model.margin:.2g}")


if __name__ == "__main__":
    main()
