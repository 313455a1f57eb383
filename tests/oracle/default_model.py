#!/usr/bin/env python3
"""Makes ../end_to_end/expected/stories.json and stories.txt: what the model that comes with Shunt computes, by an
implementation that is not ours: files read by gguf, texts cut by tokenizers, arithmetic of numpy in double precision. See
README.md.

usage: default_model.py HELD_OUT    (of tools/corpus/make-corpus)
"""

import json
import pathlib
import sys

import gguf
import jinja2
import numpy as np
import tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Each of the likeliest tokens behind it leads by more than what rounding what weights are multiplied with changes. Both
# are short, as an emulator computes them, too.
PROMPT = "Do you know Nora, the honest dragon who lived not"
QUESTION = "What does a horse say?"
TOKENS = 16  # of the story
DOCUMENTS = 12  # of the held-out part


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.keys = {name: field.contents() for name, field in reader.fields.items()}
        self.weights = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64)
                        for t in reader.tensors}
        key = lambda name: self.keys["llama." + name]
        self.layers = key("block_count")
        self.heads = key("attention.head_count")
        self.kv_heads = key("attention.head_count_kv")
        self.eps = key("attention.layer_norm_rms_epsilon")
        self.base = self.keys.get("llama.rope.freq_base", 10000.0)

    def norm(self, x, weight):
        return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + self.eps) * self.weights[weight]

    def rope(self, x):
        """x: [tokens, heads, size]; pairs of neighbours turn."""
        size = x.shape[-1]
        angles = np.arange(len(x))[:, None] * self.base ** (-np.arange(0, size, 2) / size)
        turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)[:, None, :]
        return np.stack([turned.real, turned.imag], -1).reshape(x.shape)

    def logits(self, ids):
        """Of every position: [tokens, vocabulary]."""
        w = self.weights
        x = w["token_embd.weight"][ids]
        n = len(ids)
        future = np.triu(np.full((n, n), -np.inf), 1)
        for i in range(self.layers):
            layer = f"blk.{i}."
            h = self.norm(x, layer + "attn_norm.weight")
            q = self.rope((h @ w[layer + "attn_q.weight"].T).reshape(n, self.heads, -1))
            k = self.rope((h @ w[layer + "attn_k.weight"].T).reshape(n, self.kv_heads, -1))
            v = (h @ w[layer + "attn_v.weight"].T).reshape(n, self.kv_heads, -1)
            group = self.heads // self.kv_heads
            scores = np.einsum("qhd,khd->hqk", q, k.repeat(group, 1)) / np.sqrt(q.shape[-1]) + future
            share = np.exp(scores - scores.max(-1, keepdims=True))
            share /= share.sum(-1, keepdims=True)
            x = x + np.einsum("hqk,khd->qhd", share, v.repeat(group, 1)).reshape(n, -1) @ w[layer + "attn_output.weight"].T
            h = self.norm(x, layer + "ffn_norm.weight")
            gate = h @ w[layer + "ffn_gate.weight"].T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ w[layer + "ffn_up.weight"].T)) @ w[layer + "ffn_down.weight"].T
        x = self.norm(x, "output_norm.weight")
        return x @ w.get("output.weight", w["token_embd.weight"]).T

    def tokenizer(self):
        words = self.keys["tokenizer.ggml.tokens"]
        merges = [tuple(m.split(" ")) for m in self.keys["tokenizer.ggml.merges"]]
        bpe = tokenizers.Tokenizer(tokenizers.models.BPE({w: i for i, w in enumerate(words)}, merges))
        bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        bpe.decoder = tokenizers.decoders.ByteLevel()
        bpe.add_special_tokens([words[self.end]])
        return bpe

    @property
    def end(self):
        return self.keys["tokenizer.ggml.eos_token_id"]

    def greedy(self, ids, most):
        """What comes after `ids`, to the end of the sequence, and the smallest lead that a token had over the next best."""
        ids, start, lead = list(ids), len(ids), np.inf
        while len(ids) < start + most:
            last = self.logits(ids)[-1]
            best, second = np.argsort(last)[::-1][:2]
            lead = min(lead, last[best] - last[second])
            if best == self.end:
                break
            ids.append(int(best))
        return ids[start:], float(lead)


def lost_bits(model, ids):
    logits = model.logits(ids[:-1])
    most = logits.max(-1, keepdims=True)
    log_sums = np.log(np.exp(logits - most).sum(-1)) + most[:, 0]
    return float((log_sums - logits[np.arange(len(ids) - 1), ids[1:]]).sum() / np.log(2))


def main(held_out):
    model = Model(ROOT / "models/stories.gguf")
    tokenizer = model.tokenizer()
    begin = model.keys["tokenizer.ggml.bos_token_id"]
    encode = lambda text: [begin] + tokenizer.encode(text).ids

    prompt = encode(PROMPT)
    continuation, lead = model.greedy(prompt, TOKENS)
    assert lead > 0.15, f"rounding may decide: a token leads by {lead} only"
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(model.keys["tokenizer.chat_template"])
    asked = template.render(messages=[{"role": "user", "content": QUESTION}], add_generation_prompt=True)
    answer, answer_lead = model.greedy(encode(asked), 50)

    text = "".join(document + "\n<|end|>\n" for document in
                   pathlib.Path(held_out).read_text().split("\n<|end|>\n")[:DOCUMENTS])
    documents = [encode(d) + [model.end] for d in text.split("\n<|end|>\n")[:-1]]
    bits = sum(lost_bits(model, ids) for ids in documents)
    scored = sum(len(ids) - 1 for ids in documents)

    folder = ROOT / "tests/end_to_end/expected"
    (folder / "stories.txt").write_text(text)
    (folder / "stories.json").write_text(json.dumps({
        "prompt": PROMPT, "prompt_ids": prompt,
        "greedy_ids": continuation, "greedy_text": PROMPT + tokenizer.decode(continuation), "lead": round(lead, 4),
        "logits": [float(f"{x:.6g}") for x in model.logits(prompt)[-1]],
        "question": QUESTION, "asked": asked, "asked_ids": encode(asked),
        "answer": tokenizer.decode(answer), "answer_lead": round(answer_lead, 4),
        "documents": DOCUMENTS, "scored": scored, "bits": round(bits, 3),
        "perplexity": round(2 ** (bits / scored), 6),
        "chunk": 128, "chunk_perplexity": round(chunk_perplexity(model, encode(text.replace("<|end|>\n", "")), 128), 6),
    }, indent=1) + "\n")


def chunk_perplexity(model, ids, chunk):
    """Chunks of a text, the first token of each a beginning; of each the tokens of the second half count."""
    lost, scored = 0.0, 0
    for start in range(0, len(ids) - chunk + 1, chunk):
        piece = [ids[0]] + ids[start + 1:start + chunk]
        logits = model.logits(piece)
        for i in range(chunk // 2, chunk - 1):
            most = logits[i].max()
            lost += most + np.log(np.exp(logits[i] - most).sum()) - logits[i][piece[i + 1]]
            scored += 1
    return float(np.exp(lost / scored))


if __name__ == "__main__":
    main(sys.argv[1])
