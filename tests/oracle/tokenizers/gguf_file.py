"""Reads and writes the metadata of GGUF files: as much as tokenizers need."""

import struct

FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
U8, I32, F32, STRING, ARRAY = 0, 5, 6, 8, 9


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def write(path, keys):
    """Values are bool, int (u32), str, or (element type, list)."""
    out = b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys))
    for key, value in keys.items():
        out += _string(key)
        if isinstance(value, bool):
            out += struct.pack("<I?", 7, value)
        elif isinstance(value, int):
            out += struct.pack("<II", 4, value)
        elif isinstance(value, str):
            out += struct.pack("<I", STRING) + _string(value)
        else:
            kind, items = value
            out += struct.pack("<IIQ", ARRAY, kind, len(items))
            if kind == STRING:
                out += b"".join(map(_string, items))
            else:
                out += struct.pack(f"<{len(items)}{FORMATS[kind]}", *items)
    with open(path, "wb") as file:
        file.write(out)


def read(path):
    data = open(path, "rb").read()
    at = 8

    def take(letter):
        nonlocal at
        value = struct.unpack_from("<" + letter, data, at)[0]
        at += struct.calcsize(letter)
        return value

    def string():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size : at].decode("utf-8", "surrogateescape")

    def value(kind):
        if kind == STRING:
            return string()
        if kind == ARRAY:
            element = take("I")
            return [value(element) for _ in range(take("Q"))]
        return take(FORMATS[kind])

    take("Q")  # number of tensors
    return {string(): value(take("I")) for _ in range(take("Q"))}
