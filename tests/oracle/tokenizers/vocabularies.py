"""Small vocabularies of each kind, made from the random texts, with their judges: the function that gives the ids."""

import os
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import gguf_file
from gguf_file import F32, I32, STRING, U8
from random_texts import WORDS

NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6

# Rules of the normaliser: code points, and what they become.
RULES = [("A", "a"), ("B", "b"), ("A A", "aa!"), ("\u00e9", "e"), ("e\u0301", "e"), ("\u4e2d", "\u6587"),
         ("\u3000", " "), ("\u00a0", " "), ("\t", " "), ("\n", " "), ("\ufb01", "fi"), ("\u200b", ""), ("\ufeff", "")]


def corpus_of(texts):
    """To train with: the characters of the words alone, so that vocabularies stay small."""
    known = set("".join(WORDS)) | set(map(chr, range(0x20, 0x7F)))
    return ["".join(c for c in text.replace("\n", " ") if c in known) for text in texts]


def keys_of_tokens(model, tokens, types, **others):
    keys = {"general.architecture": "llama", "tokenizer.ggml.model": model, "tokenizer.ggml.tokens": (STRING, tokens),
            "tokenizer.ggml.token_type": (I32, types)}
    keys.update({"tokenizer.ggml." + name: value for name, value in others.items()})
    return keys


def keys_of_sentencepiece(processor, model):
    """The keys of a GGUF file for a SentencePiece model."""
    tokens, types, scores = [], [], []
    for i in range(processor.get_piece_size()):
        tokens.append(processor.id_to_piece(i))
        scores.append(processor.get_score(i))
        types.append(UNKNOWN if processor.is_unknown(i) else CONTROL if processor.is_control(i)
                     else UNUSED if processor.is_unused(i) else BYTE if processor.is_byte(i) else NORMAL)
    spec = sentencepiece_model_pb2.ModelProto()
    spec.ParseFromString(processor.serialized_model_proto())
    normalizer = spec.normalizer_spec
    keys = keys_of_tokens(model, tokens, types, scores=(F32, scores), unknown_token_id=processor.unk_id(), bos_token_id=processor.bos_id(),
                 eos_token_id=processor.eos_id(), add_space_prefix=normalizer.add_dummy_prefix,
                 remove_extra_whitespaces=normalizer.remove_extra_whitespaces)
    if normalizer.precompiled_charsmap:
        keys["tokenizer.ggml.precompiled_charsmap"] = (U8, list(normalizer.precompiled_charsmap))
    return keys


def _sentencepiece(texts, kind, size, **options):
    with tempfile.TemporaryDirectory() as folder:
        corpus = os.path.join(folder, "corpus")
        with open(corpus, "w") as file:
            file.write("\n".join(corpus_of(texts)))
        if options.pop("rules", False):
            options["normalization_rule_tsv"] = os.path.join(folder, "rules")
            with open(options["normalization_rule_tsv"], "w") as file:
                for source, target in RULES:
                    codes = [" ".join(f"{ord(c):04X}" for c in text) for text in (source.replace(" ", ""), target)]
                    file.write("\t".join(codes) + "\n")
        prefix = os.path.join(folder, "model")
        sentencepiece.SentencePieceTrainer.train(input=corpus, model_prefix=prefix, vocab_size=size, model_type=kind,
                                                 character_coverage=0.98, minloglevel=2, hard_vocab_limit=False, **options)
        return sentencepiece.SentencePieceProcessor(prefix + ".model")


def unigram(texts):
    processor = _sentencepiece(texts, "unigram", 700, rules=True)
    return keys_of_sentencepiece(processor, "t5"), processor.encode


def unigram_bytes(texts):
    processor = _sentencepiece(texts, "unigram", 900, byte_fallback=True, normalization_rule_name="identity",
                               remove_extra_whitespaces=False, add_dummy_prefix=False)
    return keys_of_sentencepiece(processor, "t5"), processor.encode


def spm(texts):
    processor = _sentencepiece(texts, "bpe", 900, byte_fallback=True, normalization_rule_name="identity",
                               remove_extra_whitespaces=False)
    return keys_of_sentencepiece(processor, "llama"), processor.encode


def _by_id(tokenizer):
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.get)


def bert(texts, cased=False):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(corpus_of(texts), trainers.WordPieceTrainer(vocab_size=900, special_tokens=special, limit_alphabet=300,
                                                                   show_progress=False))
    tokenizer.encode_special_tokens = True
    tokens = _by_id(tokenizer)
    types = [CONTROL if token in special else NORMAL for token in tokens]
    keys = keys_of_tokens("bert", tokens, types, padding_token_id=0, unknown_token_id=1, cls_token_id=2, seperator_token_id=3)
    return keys, lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def bert_cased(texts):
    return bert(texts, cased=True)


def gemma4(texts):
    special = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    trainer = trainers.BpeTrainer(vocab_size=1000, initial_alphabet=[], limit_alphabet=200, special_tokens=special,
                                  show_progress=False)
    tokenizer.train_from_iterator(corpus_of(texts), trainer)
    import json

    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = data["added_tokens"][:4]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.encode_special_tokens = True
    tokens = _by_id(tokenizer)
    types = [CONTROL] * 3 + [UNKNOWN] + [BYTE] * 256
    types += [NORMAL] * (len(tokens) - len(types))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in data["model"]["merges"]]
    keys = keys_of_tokens("gemma4", tokens, types, merges=(STRING, merges), bos_token_id=2, eos_token_id=1, unknown_token_id=3)
    return keys, lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def bytes_qwen2(texts):
    """Byte-level BPE, text in NFC first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    from pretokenizers import PUBLISHED, splitter

    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [splitter(PUBLISHED["qwen2"]), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(corpus_of(texts), trainer)
    import json

    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    tokens = _by_id(tokenizer)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    return keys_of_tokens("gpt2", tokens, [NORMAL] * len(tokens), pre="qwen2", merges=(STRING, merges)), lambda text: tokenizer.encode(text).ids


MADE = [unigram, unigram_bytes, spm, bert, bert_cased, gemma4, bytes_qwen2]


def shared(folder, name):
    """The judge of a vocabulary in ../shared/data/vocab, which is read from the GGUF file there."""
    keys = gguf_file.read(os.path.join(folder, name + ".gguf"))
    get = lambda key: keys["tokenizer.ggml." + key]
    tokens = get("tokens")
    if name == "bert-bge":
        vocabulary = {}
        for i, (token, kind) in enumerate(zip(tokens, get("token_type"))):
            plain = kind != NORMAL or (token.startswith("[") and token.endswith("]"))
            vocabulary.setdefault(token if plain else token[1:] if token.startswith("\u2581") else "##" + token, i)
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return lambda text: tokenizer.encode(text).ids
    if name == "llama-spm":
        proto = sentencepiece_model_pb2.ModelProto()
        kinds = {NORMAL: 1, UNKNOWN: 2, CONTROL: 3, 4: 4, UNUSED: 5, BYTE: 6}
        for token, score, kind in zip(tokens, get("scores"), get("token_type")):
            proto.pieces.add(piece=token, score=score, type=kinds[kind])
        proto.trainer_spec.model_type = 2
        proto.trainer_spec.byte_fallback = True
        proto.normalizer_spec.remove_extra_whitespaces = False
        processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
        return processor.encode
    from pretokenizers import PUBLISHED, splitter

    merges = [tuple(merge.split(" ")) for merge in get("merges")]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [splitter(PUBLISHED[get("pre")]), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token, kind in zip(tokens, get("token_type")) if kind == 4])
    return lambda text: tokenizer.encode(text).ids


SHARED = ["gpt-2", "deepseek-coder", "llama-spm", "bert-bge"]
