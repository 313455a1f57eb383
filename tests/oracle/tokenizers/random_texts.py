"""A thousand random texts: words of many scripts, marks out of order, rare spaces, control tokens spelled out."""

import random
import unicodedata

WORDS = (
    "the of and to in is that it was for on are with they at be this have from word time people I'm you're WE'LL "
    "don't HELLO McDonald iPhone naïve façade Ångström ﬁne Straße ΑΘΗΝΑ ὈΔΥΣΣΕΎΣ Москва ЁЛКА 中文字符 "
    "日本語テスト カタカナ 한국어 हिन्दी ไทย العربية עברית <s> </s> <|im_end|> [MASK] "
    "http://x.y/z?a=1&b=2 foo_bar() {} [] == != 1234567 3.14159 ½ ² Ⅷ ٣٤ १२३"
).split(" ")

# Ranges of code points; ASCII is as frequent as six others.
SCRIPTS = [(0x20, 0x7F)] * 6 + [
    (0xA0, 0x17F), (0x180, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x530, 0x58F), (0x590, 0x5FF),
    (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x1F00, 0x1FFF),
    (0x2000, 0x206F), (0x20A0, 0x214F), (0x2190, 0x21FF), (0x2580, 0x25FF), (0x3000, 0x30FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFB00, 0xFDFF), (0xFE00, 0xFE0F), (0xFF00, 0xFFEF),
    (0x1D400, 0x1D7FF), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0xE0100, 0xE01EF),
]
SPACES = " \t\n\r\u00a0\u2003\u3000\u200b\u200d\ufeff"
MARKS = [0x300, 0x301, 0x308, 0x327, 0x323, 0x345, 0x5B0, 0x64B, 0x3099, 0x1161, 0x11A8]


def _character(rng):
    kind = rng.random()
    if kind < 0.06:
        return rng.choice(SPACES)
    if kind < 0.10:
        return rng.choice(["\n", "  "])
    if kind < 0.14:
        return chr(rng.choice(MARKS))
    if kind < 0.90:
        return chr(rng.randint(*rng.choice(SCRIPTS)))
    while True:
        code = rng.randint(1, 0x10FFFF)
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def _text(rng):
    parts = []
    for _ in range(rng.randint(1, 24)):
        if rng.random() < 0.45:
            parts.append(rng.choice(WORDS) + rng.choice(["", " ", " ", "  ", "\n", ", ", ".", "'s"]))
        else:
            parts.append("".join(_character(rng) for _ in range(rng.randint(1, 6))))
    return "".join(parts)


def random_texts(count=1000, seed=7):
    """Of assigned characters only: tables of Unicode differ in version."""
    rng = random.Random(seed)
    texts = []
    while len(texts) < count:
        text = _text(rng)
        if all(unicodedata.category(c) != "Cn" for c in text):
            texts.append(text)
    return texts
