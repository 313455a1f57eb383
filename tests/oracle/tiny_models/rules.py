"""How a parameter of a transformers model is made of tensors of a GGUF file: the inverse of a conversion.

A table of rules has a parameter's name, without the number of its layer, and its rule. A rule is a tensor's name
where nothing is to be done.
"""

import dataclasses
import typing

import torch


@dataclasses.dataclass
class Rule:
    names: tuple[str, ...]
    # The shapes in the file, outermost first, from the parameter's.
    shapes: typing.Callable
    # The parameter, of the tensors; also given the parameter before.
    join: typing.Callable


def plain(name):
    return Rule((name,), lambda shape: [shape], lambda tensors, _: tensors[0])


def shaped(name, to_file):
    """As many values, but other dimensions in the file."""
    return Rule((name,), lambda shape: [to_file(shape)], lambda tensors, old: tensors[0].reshape(old.shape))


def paired(name, head, turned=None):
    """Rows of queries or keys: each head's first half of rows alternates with its second half in the file, so that
    pairs that rope turns are neighbours. turned: as many rows of each head, from the last on."""
    turned = turned or head

    def join(tensors, old):
        x = tensors[0].reshape(-1, head, *old.shape[1:])
        rest, pairs = x[:, :head - turned], x[:, head - turned:]
        halves = pairs.reshape(-1, turned // 2, 2, *old.shape[1:]).transpose(1, 2).reshape(pairs.shape)
        return torch.cat([rest, halves], 1).reshape(old.shape)

    return Rule((name,), lambda shape: [shape], join)


def less_one(name):
    """A norm that transformers multiplies by 1 + w; the file has the sum."""
    return Rule((name,), lambda shape: [shape], lambda tensors, _: tensors[0] - 1)


def log_of_negative(name, to_file=lambda shape: shape):
    """A decay: -exp(A) is in the file."""
    return Rule((name,), lambda shape: [to_file(shape)], lambda tensors, old: torch.log(-tensors[0]).reshape(old.shape))


def one_after_another(*names, dim=0, sizes=None):
    """Tensors that are one in transformers, in equal parts without sizes."""

    def shapes(shape):
        parts = sizes or [shape[dim] // len(names)] * len(names)
        return [(*shape[:dim], part, *shape[dim + 1:]) for part in parts]

    return Rule(names, shapes, lambda tensors, _: torch.cat(tensors, dim))


def divisor(name):
    """Of a rope's frequencies."""
    return Rule((name,), lambda shape: [shape], lambda tensors, old: old / tensors[0].to(old.dtype))


def part(name, index, count):
    """Rows of a tensor that is several parameters in transformers."""
    return Rule((name,), lambda shape: [(shape[0] * count, *shape[1:])],
                lambda tensors, old: tensors[0].chunk(count)[index])


def without_first(name, count):
    """Rows of a table of which the file lacks the first ones, as they are not used."""
    return Rule((name,), lambda shape: [(shape[0] - count, *shape[1:])],
                lambda tensors, _: torch.cat([tensors[0][:count], tensors[0]]))
