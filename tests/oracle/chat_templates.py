#!/usr/bin/env python3
"""Makes tests/oracle/chat_templates/expected.json: templates, conversations, and the text that Jinja2 makes of them with the
settings of the transformers package. It needs jinja2==3.1.6 and nothing else. chat_templates/ has templates in the manner of published ones,
written for this test; the short ones that check one feature each are in chat_template_cases.py.

    chat_templates.py [--compare TEMPLATE CONTEXT]   the second form prints one rendering
"""

import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from chat_template_cases import CASES, CONVERSATIONS

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2024, 7, 26, 9, 5, 3)


class Generation(jinja2.ext.Extension):
    """{% generation %}, which transformers uses to find the assistant's text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    result = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    result.filters["tojson"] = tojson
    result.globals["raise_exception"] = raise_exception
    result.globals["strftime_now"] = NOW.strftime
    return result


def rendered(template, context):
    """The text, or the error's type where Jinja2 raises one."""
    try:
        return {"expected": environment().from_string(template).render(**{"tools": None, "documents": None, **context})}
    except Exception as error:  # noqa: BLE001: whatever it raises is an error of the template
        return {"error": f"{type(error).__name__}: {error}"[:120]}


def main():
    if sys.argv[1:2] == ["--compare"]:
        print(json.dumps(rendered(pathlib.Path(sys.argv[2]).read_text(), json.loads(pathlib.Path(sys.argv[3]).read_text()))))
        return
    cases = []
    for name, template in CASES:
        cases.append({"name": name, "template": template, "conversation": "values", **rendered(template, CONVERSATIONS["values"])})
    for path in sorted((HERE / "chat_templates").glob("*.jinja")):
        template = path.read_text()
        for conversation, context in CONVERSATIONS.items():
            if conversation == "values":
                continue
            cases.append({"name": f"{path.stem}: {conversation}", "file": path.name, "conversation": conversation,
                          **rendered(template, context)})
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    conversations = ",\n".join(f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in CONVERSATIONS.items())
    text = f'{{"conversations": {{\n{conversations}\n}},\n"cases": [\n{lines}\n]}}\n'
    (HERE / "chat_templates" / "expected.json").write_text(text)
    print(len(cases), "cases,", sum("error" in case for case in cases), "of them errors,", len(text), "bytes")


if __name__ == "__main__":
    main()
