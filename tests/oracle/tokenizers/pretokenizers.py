"""Expressions of pre-tokenizers as they were published, and the package tokenizers to apply them."""

from tokenizers import Regex, pre_tokenizers

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_DEEPSEEK3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
              r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def _cased(contraction, digits, line_ends, upper=_UPPER, lower=_LOWER, first=""):
    head = r"[^\r\n\p{L}\p{N}]?"
    return (f"{first}{head}[{upper}]*[{lower}]+{contraction}|{head}[{upper}]+[{lower}]*{contraction}"
            rf"|{digits}| ?[^\s\p{{L}}\p{{N}}]+{line_ends}|\s*[\r\n]+|\s+(?!\S)|\s+")


_NOT_HAN = r"&&[^\p{Han}]"

# By tokenizer.ggml.pre: applied in sequence.
PUBLISHED = {
    "gpt-2": [_GPT2],
    "llama-bpe": [_CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "qwen2": [_CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "qwen35": [_CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "jais-2": [_CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
               + "".join(rf"|\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4)) + r"|\s{1,2}(?!\S)|\s{1}"],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"],
    "seed-coder": [_CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", _DEEPSEEK3],
    "falcon": [r"[\p{P}$+<=>^`|~]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "starcoder": [r"\p{N}", _GPT2],
    "bloom": [" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"],
    "tekken": [_cased("", r"\p{N}", r"[\r\n/]*")],
    "gpt-4o": [_cased(_CONTRACTION + "?", r"\p{N}{1,3}", r"[\r\n/]*")],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", _cased(_CONTRACTION + "?", r"\p{N}{1,3}", r"[\r\n/]*")],
    "kimi-k2": [_cased(_CONTRACTION + "?", r"\p{N}{1,3}", r"[\r\n]*", _UPPER + _NOT_HAN, _LOWER + _NOT_HAN, r"[\p{Han}]+|")],
    "exaone-moe": [_CONTRACTION + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?"
                   r"|\s*[\r\n]|\s+(?!\S)|\s+"],
}


def splitter(patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns])


def sizes(split, text):
    """Bytes of each word."""
    return [len(word.encode()) for word, _ in split.pre_tokenize_str(text)]
