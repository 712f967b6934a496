"""Makes rdmawire/report.py from the JSON Schema of the report, for the build (`backend.py`)."""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from typing import Any

HEAD = '''"""The report of an analysis, as typed objects.

Made by the build (tools/report_types.py) from the JSON Schema of the report (`rdmawire explain schema`). Fields and words are
those of `rdmawire analyze --json`; a field with the name of a keyword of Python has `_` behind it. Units stand in names. A figure
that the capture cannot prove is `None`, and `why` of the object that has it says why.
"""

from __future__ import annotations

from typing import Any, ClassVar, Dict, List, Literal, Mapping, Optional

from ._record import Record, ReportMethods
'''


def doc_of(schema: dict[str, Any]) -> str:
    text = " ".join(schema.get("description", "").split())
    text = re.sub(r"\[(`?[^\]]+`?)\](\([^)]*\))?", r"\1", text)
    return text.replace("\\", "\\\\").replace('"""', "'''")


def docstring(text: str, indent: str) -> str:
    one = f'{indent}"""{text}"""'
    if len(one) <= 120 and not text.endswith('"'):
        return one
    lines = textwrap.wrap(text, 116 - len(indent))
    return f'{indent}"""' + f"\n{indent}".join(lines) + f'\n{indent}"""'


class Types:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.defs: dict[str, Any] = schema["$defs"]

    def words(self, name: str) -> list[str] | None:
        """The words of an enumeration."""
        schema = self.defs[name]
        if "enum" in schema and schema.get("type") == "string":
            return list(schema["enum"])
        options = schema.get("oneOf", [])
        words: list[str] = []
        for option in options:
            if "const" in option:
                words.append(option["const"])
            elif "enum" in option:
                words.extend(option["enum"])
            else:
                return None
        return words or None

    def is_record(self, name: str) -> bool:
        return "properties" in self.defs[name]

    def type(self, schema: Any) -> tuple[str, str | None]:
        """The type in Python, and the name of the record in it, with `*` before it if it is a mapping of them."""
        if schema is True or not schema:
            return "Any", None
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return name, name if self.is_record(name) else None
        for key in ("anyOf", "oneOf"):
            if key in schema:
                others = [one for one in schema[key] if one.get("type") != "null"]
                if len(others) == 1:
                    inner, record = self.type(others[0])
                    is_optional = len(others) != len(schema[key])
                    return (f"Optional[{inner}]" if is_optional else inner), record
                return "Any", None
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [one for one in kind if one != "null"]
            inner, record = self.type({**schema, "type": kinds[0]}) if len(kinds) == 1 else ("Any", None)
            return (f"Optional[{inner}]" if "null" in kind and inner != "Any" else inner), record
        if kind == "array":
            inner, record = self.type(schema.get("items", True))
            return f"List[{inner}]", record
        if kind == "object":
            inner, record = self.type(schema.get("additionalProperties", True))
            return f"Dict[str, {inner}]", f"*{record}" if record else None
        plain = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
        return plain.get(kind, "Any"), None

    def record(self, name: str, schema: dict[str, Any], base: str) -> str:
        lines = [f"class {name}({base}):", docstring(doc_of(schema) or name, "    "), ""]
        nested: dict[str, str] = {}
        empty: dict[str, str] = {}
        fields = []
        for field, of in schema["properties"].items():
            kind, record = self.type(of)
            if record:
                nested[field] = record
            if field not in schema.get("required", []):
                empty[field] = "[]" if of.get("type") == "array" else "{}"
            # As `Record` has it.
            attribute = f"{field}_" if keyword.iskeyword(field) else field
            fields += [f"    {attribute}: {kind}", docstring(doc_of(of), "    ")] if doc_of(of) else [f"    {attribute}: {kind}"]
        if nested:
            lines.append(f"    _nested: ClassVar[Mapping[str, str]] = {json.dumps(nested)}")
        if empty:
            lines.append(f"    _left_out: ClassVar[Mapping[str, Any]] = {{{', '.join(f'{json.dumps(one)}: {value}' for one, value in empty.items())}}}")
        return "\n".join(lines + fields) + "\n"

    def module(self) -> str:
        parts = [HEAD]
        for name in sorted(self.defs):
            words = self.words(name)
            if words:
                text = f"{name} = Literal[{', '.join(json.dumps(word) for word in words)}]"
                parts.append(text + "\n" + docstring(doc_of(self.defs[name]), "") + "\n")
            elif not self.is_record(name):
                parts.append(f"{name} = {self.type(self.defs[name])[0]}\n")
        for name in sorted(self.defs):
            if self.is_record(name):
                parts.append(self.record(name, self.defs[name], "Record"))
        parts.append(self.record("Report", self.schema, "ReportMethods"))
        return "\n\n".join(parts)


def made(native: Any) -> str:
    return Types(json.loads(native.report_schema())).module()
