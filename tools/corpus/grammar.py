"""A grammar of texts that draws them, and knows exactly how likely each one is.

A grammar is data (story.grammar explains how it is written): rules, whose alternatives are chosen by their
weights, and tables, whose records are chosen evenly and remembered under a name, so that a story can name its
hero again. Two names never hold the same record of one table. One function, `choices`, says what can come
next; drawing, scoring, the entropy and the proof that no text can come about in two ways all follow from it.

Text is looked at in pieces: a run of letters or digits is one, every other character is one by itself. Names and rules
only meet text at such borders (`read` demands it), so that a text is cut in one way only.
"""

import math
import re

PIECE = re.compile(r"[^\W_]+|[\W_]")
END = "<|end|>"  # the line between two documents

# What a text is made of; a symbol is a tuple that begins with one of these.
TEXT, FIELD, DRAW, RULE, PICK = "text", "field", "draw", "rule", "pick"


class GrammarError(Exception):
    pass


class Random:
    """splitmix64 (Steele, Lea and Flood, 2014): the same numbers in every version of Python."""

    MASK = 2**64 - 1

    def __init__(self, seed):
        self.state = seed & self.MASK

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.MASK
        return z ^ (z >> 31)

    def below(self, n):
        """One of 0 to n - 1, each exactly as likely as the others."""
        last = 2**64 - 2**64 % n
        while True:
            bits = self.bits()
            if bits < last:
                return bits % n


def spell(form, text):
    """`text` as a sentence wants it: "^" with a capital, "a" with its article, "^a" with both."""
    if "a" in form:
        text = ("an " if text[0] in "aeiou" else "a ") + text
    return text[0].upper() + text[1:] if "^" in form else text


class Grammar:
    def __init__(self, tables, rules):
        self.tables = tables  # name: list of records, which are dicts
        self.rules = rules  # name: list of (weight, symbols)
        self.totals = {name: sum(weight for weight, _ in alternatives) for name, alternatives in rules.items()}
        symbols = [s for alternatives in rules.values() for _, alternative in alternatives for s in alternative]
        self.selectors = {s[3] for s in symbols if s[0] == PICK}  # fields that decide what comes next
        self.sources = {}  # variable: the tables it may be drawn from
        for symbol in symbols:
            if symbol[0] == DRAW:
                self.sources.setdefault(symbol[1], set()).add(symbol[2])

    def start(self, rule="document"):
        """The state before the first piece: what is still to be said, first things first, and what is remembered."""
        return ((RULE, rule), None), {}

    def free(self, table, memory):
        """The records of `table` that nobody holds."""
        held = [record for name, record in memory.values() if name == table]
        return [record for record in self.tables[table] if not any(record is other for other in held)]

    def value(self, variable, field, memory):
        return memory[variable][1][field]

    def rule_of(self, symbol, memory):
        return symbol[1] if symbol[0] == RULE else symbol[1] + "-" + self.value(symbol[2], symbol[3], memory)

    def choices(self, todo, memory):
        """What can come next: a list of (weight, of how much, text, todo, memory)."""
        symbol, rest = todo
        kind = symbol[0]
        if kind == TEXT:
            return [(1, 1, symbol[1], rest, memory)]
        if kind == FIELD:
            _, variable, field, form = symbol
            return [(1, 1, spell(form, self.value(variable, field, memory)), rest, memory)]
        if kind == DRAW:
            _, variable, table, field, form = symbol
            records = self.free(table, memory)
            return [
                (1, len(records), spell(form, record[field]), rest, {**memory, variable: (table, record)})
                for record in records
            ]
        name = self.rule_of(symbol, memory)
        total = self.totals[name]
        return [(weight, total, "", push(symbols, rest), memory) for weight, symbols in self.rules[name]]

    def draw(self, random, rule="document"):
        """A text, and the base-2 logarithm of the probability of drawing it in this way."""
        todo, memory = self.start(rule)
        text, log = [], 0.0
        while todo is not None:
            symbol, rest = todo
            if symbol[0] == DRAW:  # what choices() does, without making all but one of them
                _, variable, table, field, form = symbol
                records = self.free(table, memory)
                record = records[random.below(len(records))]
                memory = {**memory, variable: (table, record)}
                text.append(spell(form, record[field]))
                log -= math.log2(len(records))
                todo = rest
                continue
            options = self.choices(todo, memory)
            if len(options) == 1:
                _, _, piece, todo, memory = options[0]
            else:
                number = random.below(options[0][1])
                for weight, total, piece, todo, memory in options:
                    number -= weight
                    if number < 0:
                        break
                log += math.log2(weight / total)
            text.append(piece)
        return "".join(text), log

    def derivations(self, text, rule="document"):
        """For each way in which `text` can come about, the base-2 logarithm of its probability."""
        found = []
        states = [(0, 0.0, *self.start(rule))]
        while states:
            position, log, todo, memory = states.pop()
            if todo is None:
                if position == len(text):
                    found.append(log)
                continue
            for weight, total, piece, rest, remembered in self.choices(todo, memory):
                if text.startswith(piece, position):
                    states.append((position + len(piece), log + math.log2(weight / total), rest, remembered))
        return found

    def log_probability(self, text, rule="document"):
        """The base-2 logarithm of the probability of `text`, all ways together. None if it is none of ours."""
        logs = self.derivations(text, rule)
        if not logs:
            return None
        best = max(logs)
        return best + math.log2(sum(2 ** (log - best) for log in logs))

    def entropy(self, rule="document"):
        """Bits of a draw, exactly: the expected -log2 of the probability of its choices.

        What is remembered matters only for the number of records that are left and for what a PICK looks at, so states
        that agree in these are one, and the sum over all of them is short."""
        known = {}

        def matters(record):
            return tuple((field, record[field]) for field in sorted(self.selectors) if field in record)

        def entropy_of(todo, memory):
            if todo is None:
                return 0.0
            key = (todo, frozenset((name, table, matters(record)) for name, (table, record) in memory.items()))
            if key not in known:
                # Of the records of a draw one stands for all of its sort.
                sorts = {}
                for weight, total, _, rest, remembered in self.choices(todo, memory):
                    sort = matters(remembered[todo[0][1]][1]) if todo[0][0] == DRAW else rest
                    others, _, _ = sorts.get(sort, (0.0, None, None))
                    sorts[sort] = (others + weight / total, rest, remembered)
                    bits = math.log2(total / weight) * weight / total
                    known[key] = known.get(key, 0.0) + bits
                known[key] += sum(share * entropy_of(rest, held) for share, rest, held in sorts.values())
            return known[key]

        return entropy_of(*self.start(rule))

    def clashes(self):
        """Pairs of choices that the text does not tell apart: (where, the text that begins both).

        If there is none, then whoever reads a text from its start knows at every choice which one was taken, because any
        two differ in a piece before either has ended: so each text comes about in at most one way. What is remembered
        from before a choice is the same for both sides; it is taken to be anything at all, which can only find more."""
        found = []
        for name, alternatives in self.rules.items():
            for i, (_, first) in enumerate(alternatives):
                for _, second in alternatives[:i]:
                    both = self.common(push(first, None), push(second, None))
                    if both is not None:
                        found.append((name, both))
        draws = {s[2:] for alternatives in self.rules.values() for _, a in alternatives for s in a if s[0] == DRAW}
        for table, field, form in sorted(draws):
            pieces = [PIECE.findall(spell(form, record[field])) for record in self.tables[table]]
            for i, first in enumerate(pieces):
                for second in pieces[:i]:
                    if all(a == b for a, b in zip(first, second)):
                        found.append((f"{table}.{field}", "".join(first)))
        return found

    def common(self, first, second):
        """A text of one that begins a text of the other; None if there is none."""
        states = [("", (first, {}, []), (second, {}, []))]
        while states:
            text, a, b = states.pop()
            if (not a[2] and a[0] is None) or (not b[2] and b[0] is None):
                return text
            if a[2] and b[2]:
                shared = min(len(a[2]), len(b[2]))
                if a[2][:shared] == b[2][:shared]:
                    said = "".join(a[2][:shared])
                    states.append((text + said, (a[0], a[1], a[2][shared:]), (b[0], b[1], b[2][shared:])))
                continue
            if not a[2] and not b[2] and a[0][0] == b[0][0] and a[1] == b[1]:
                # The same symbol, and the same is remembered: what is chosen in it can be read, if it can in the rule it
                # asks for, so it is the same on both sides.
                states.append((text + "...", (a[0][1], a[1], []), (b[0][1], b[1], [])))
                continue
            one, other = (a, b) if not a[2] else (b, a)
            unknown = self.unknown(one)
            for table in sorted(self.sources[unknown]) if unknown else ():  # remembered from before: both sides know it
                free_there = self.free(table, other[1])
                for record in self.free(table, one[1]):
                    if not any(record is free for free in free_there):
                        continue
                    memories = [{unknown: (table, record), **side[1]} for side in (one, other)]
                    states.append((text, (one[0], memories[0], []), (other[0], memories[1], other[2])))
            if not unknown:
                for _, _, piece, rest, memory in self.choices(one[0], one[1]):
                    states.append((text, (rest, memory, PIECE.findall(piece)), other))
        return None

    def unknown(self, side):
        """The variable that the next symbol of `side` asks for and that is not remembered."""
        symbol = side[0][0]
        variable = {FIELD: symbol[1], PICK: symbol[2] if symbol[0] == PICK else None}.get(symbol[0])
        return variable if variable is not None and variable not in side[1] else None


def push(symbols, todo):
    for symbol in reversed(symbols):
        todo = (symbol, todo)
    return todo


NAME = r"[a-z_0-9-]+"
SYMBOLS = (  # in <>; the first that matches
    (re.compile(rf"({NAME})"), lambda m: (RULE, m[1])),
    (re.compile(rf"\?({NAME}) ({NAME})\.({NAME})"), lambda m: (PICK, m[1], m[2], m[3])),
    (re.compile(rf"(\^?(?:a )?)({NAME})\.({NAME})"), lambda m: (FIELD, m[2], m[3], m[1].strip())),
    (re.compile(rf"(\^?(?:a )?)({NAME}):({NAME})\.({NAME})"), lambda m: (DRAW, m[2], m[3], m[4], m[1].strip())),
)


def read_alternative(line, where):
    symbols = []
    for part in re.split(r"(<[^>]*>)", line.replace("\\n", "\n")):
        if not part.startswith("<"):
            if part:
                symbols.append((TEXT, part))
            continue
        for pattern, make in SYMBOLS:
            match = pattern.fullmatch(part[1:-1])
            if match:
                symbols.append(make(match))
                break
        else:
            raise GrammarError(f"{where}: {part} is no symbol")
    if not symbols:
        raise GrammarError(f"{where}: an alternative says nothing")
    for left, right in zip(symbols, symbols[1:]):
        meets = (right[1][0] if right[0] == TEXT else left[1][-1]) if TEXT in (left[0], right[0]) else "x"
        if meets.isalnum():
            raise GrammarError(f"{where}: {left[1]} and {right[1]} touch; what they say could be cut in two ways")
    return tuple(symbols)


def read(path):
    """The grammar in a file; GrammarError with the line for what makes no sense."""
    tables, rules = {}, {}
    block = None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            where = f"{path}:{number}"
            line = line.rstrip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            if not line.startswith(" "):
                kind, _, head = line.partition(" ")
                name, _, fields = (part.strip() for part in head.partition(":"))
                if kind not in ("table", "rule") or not name or name in (tables if kind == "table" else rules):
                    raise GrammarError(f"{where}: expected \"table NAME: FIELDS\" or \"rule NAME\", a new one")
                block = (tables if kind == "table" else rules).setdefault(name, [])
                columns = [field.strip() for field in fields.split("|")] if kind == "table" else None
            elif block is None:
                raise GrammarError(f"{where}: belongs to no table and no rule")
            elif columns is not None:
                values = [value.strip() for value in line.split("|")]
                if len(values) != len(columns) or not all(values):
                    raise GrammarError(f"{where}: {len(values)} values for {len(columns)} fields, or an empty one")
                block.append(dict(zip(columns, values)))
            else:
                weight, text = re.fullmatch(r"(?:(\d+)\* )?(.*)", line.strip()).groups()
                if weight == "0":
                    raise GrammarError(f"{where}: a weight of 0 says that it never comes")
                block.append((int(weight or 1), read_alternative(text, where)))
    grammar = Grammar(tables, rules)
    check_names(grammar, path)
    return grammar


def check_names(grammar, path):
    for name, alternatives in grammar.rules.items():
        for symbol in (s for _, symbols in alternatives for s in symbols):
            if symbol[0] == RULE and symbol[1] not in grammar.rules:
                raise GrammarError(f"{path}: rule {name} asks for rule {symbol[1]}, which is not there")
            if symbol[0] == DRAW and symbol[3] not in (grammar.tables.get(symbol[2]) or [{}])[0]:
                raise GrammarError(f"{path}: rule {name} draws {symbol[2]}.{symbol[3]}, which is not there")
            if symbol[0] in (FIELD, PICK):
                variable, field = (symbol[1], symbol[2]) if symbol[0] == FIELD else (symbol[2], symbol[3])
                for table in grammar.sources.get(variable) or [None]:
                    if table is None or field not in grammar.tables[table][0]:
                        raise GrammarError(f"{path}: rule {name} asks for {variable}.{field}, which nobody draws")


def read_documents(path):
    """The documents of a file: what stands between lines that say only END."""
    with open(path, encoding="utf-8", newline="\n") as file:
        documents = file.read().split("\n" + END + "\n")
    if documents.pop():
        raise GrammarError(f"{path}: does not end with a line {END}")
    return documents
