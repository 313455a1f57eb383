#!/usr/bin/env python3
"""Writes what the packages tokenizers and sentencepiece make of a thousand random texts: tests/oracle/tokenizers/*.

    tokenizer_results.py [SHARED]     SHARED is the folder with data/vocab; without it, its vocabularies keep their values

README.md says which versions. The files are texts.json; NAME.gguf, a vocabulary of each kind; ids/NAME and words/NAME, a
checksum for each text (FNV-1a of 32-bit numbers: ids, or sizes of words in bytes).
"""

import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "tokenizers")
sys.path[0] = FOLDER  # this script has the name of the package

import gguf_file
import pretokenizers
import vocabularies
from random_texts import random_texts

TEXTS_OF_A_CHECKSUM_OF_WORDS = 50


def checksum(numbers, start=0x811C9DC5):
    value = start
    for byte in b"".join(struct.pack("<I", number) for number in numbers):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def save(folder, name, sums):
    os.makedirs(os.path.join(FOLDER, folder), exist_ok=True)
    with open(os.path.join(FOLDER, folder, name), "w") as file:
        file.write("".join(f"{value:08x}\n" for value in sums))


def main():
    texts = random_texts()
    with open(os.path.join(FOLDER, "texts.json"), "w") as file:
        json.dump(texts, file, ensure_ascii=False, indent=0)
        file.write("\n")
    for make in vocabularies.MADE:
        keys, judge = make(texts)
        name = make.__name__.replace("_", "-")
        gguf_file.write(os.path.join(FOLDER, name + ".gguf"), keys)
        save("ids", name, [checksum(judge(text)) for text in texts])
    for name in vocabularies.SHARED if len(sys.argv) > 1 else []:
        judge = vocabularies.shared(os.path.join(sys.argv[1], "data", "vocab"), name)
        save("ids", name, [checksum(judge(text)) for text in texts])
    for name, patterns in pretokenizers.PUBLISHED.items():
        split = pretokenizers.splitter(patterns)
        sums = []
        for i in range(0, len(texts), TEXTS_OF_A_CHECKSUM_OF_WORDS):
            sums.append(checksum(size for text in texts[i : i + TEXTS_OF_A_CHECKSUM_OF_WORDS]
                                 for size in pretokenizers.sizes(split, text)))
        save("words", name, sums)


if __name__ == "__main__":
    main()
