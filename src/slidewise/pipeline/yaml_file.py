"""YAML files, read with the place of every value, so that a mistake can be shown where it stands."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path as FilePath
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.pipeline.mistakes import FilePlace, InvalidPipeline, Mistake, Path

#: A file of this size is no pipeline, but perhaps its data.
MOST_BYTES = 1 << 20
#: An alias stands for all of its anchor: a few lines may mean billions of values.
MOST_VALUES = 100_000


@dataclass(frozen=True)
class YamlFile:
    """A file as it was read: its values as plain Python, and where they stand."""

    path: str
    text: str
    values: dict[str, Any]
    #: as ruamel.yaml has it, with places
    tree: Any

    def find_place(self, path: Path, *, of_key: bool = False) -> FilePlace:
        """Find where a value stands, or its key; of one that is missing, where it would be."""
        node, line, column = self.tree, 0, 0
        for i, part in enumerate(path):
            found = _position(node, part, of_value=i == len(path) - 1 and not of_key)
            if found is None:
                break
            (line, column), node = found, node[part]
        return FilePlace(self.path, line + 1, column + 1)


def read_yaml(path: str | FilePath) -> YamlFile:
    """Read a file; what cannot be a pipeline is refused with its place."""
    file = FilePath(path)
    name = str(path)
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise InvalidPipeline(
                [Mistake(f"{name} has {size:,} bytes, and a pipeline has a few thousand. Is it the data?")]
            )
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidPipeline(
            [Mistake(f"{name} is no text in UTF-8: byte {error.start} is {error.object[error.start]:#04x}")]
        ) from None
    except OSError as error:
        raise InvalidPipeline([Mistake(f"{name} cannot be read: {error.strerror or error}")]) from None
    return parse_yaml(text, name)


def parse_yaml(text: str, name: str = "<text>") -> YamlFile:
    """Parse the text of a file.

    >>> file = parse_yaml("name: cards\\nkeys: [card]")
    >>> file.values, str(file.find_place(("keys", 0)))
    ({'name': 'cards', 'keys': ['card']}, '<text>:2:8')
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    try:
        tree = YAML(typ="rt").load(text)
    except DuplicateKeyError as error:
        raise InvalidPipeline([Mistake(_describe_duplicate(error), (), _place(name, error.problem_mark))]) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InvalidPipeline([Mistake(_describe_syntax(error, text), (), _place(name, mark))]) from None
    except ReaderError as error:
        before = text[: error.position]
        place = FilePlace(name, before.count("\n") + 1, len(before) - before.rfind("\n"))
        message = f"not YAML: the character U+{ord(text[error.position]):04X} may not stand in it"
        raise InvalidPipeline([Mistake(message, (), place)]) from None
    except (YAMLError, ValueError) as error:
        raise InvalidPipeline([Mistake(f"not YAML: {error}", (), FilePlace(name, 1, 1))]) from None
    except RecursionError:
        raise InvalidPipeline([Mistake("values stand within values too deeply", (), FilePlace(name, 1, 1))]) from None
    if tree is None:
        raise InvalidPipeline([Mistake(f"{name} is empty. `slidewise new` writes one to begin with")])
    if not isinstance(tree, dict):
        raise InvalidPipeline(
            [Mistake(f"a pipeline is a mapping of keys such as name, source and features, got {_kind(tree)}",
                     (), FilePlace(name, 1, 1))]
        )  # fmt: skip
    file = YamlFile(name, text, {}, tree)
    return replace(file, values=_to_plain(tree, file, [MOST_VALUES], ()))


def replace_rows(text: str, path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """Replace a list of mappings in the text of a file; all else stays as it is, comments included.

    >>> replace_rows("a: 1  # one\\nrows: [{x: 1}]  # two\\n", ("rows",), [{"x": 2.5}, {"x": None}])
    'a: 1  # one\\nrows:  # two\\n- {x: 2.5}\\n- {x: null}\\n'
    """
    from ruamel.yaml import YAML

    key, value, in_flow = _find_node(YAML(typ="rt").compose(text), path)
    if value.start_mark.index < key.end_mark.index:
        raise InvalidInput(f"{'.'.join(map(str, path))} is an alias: what it stands for would change in several places")
    lines = [_write_flow(row) for row in rows]
    end = _find_end(value)
    if in_flow or not rows:
        return f"{text[: value.start_mark.index]}[{', '.join(lines)}]{text[end:]}"
    indent = " " * key.start_mark.column
    block = "".join(f"\n{indent}- {line}" for line in lines)
    if value.start_mark.line > key.end_mark.line:  # a comment may stand after the key
        start = text.rindex("\n", 0, value.start_mark.index)
        return text[:start] + block + text[end:]
    colon = text.index(":", key.end_mark.index) + 1
    rest = text[end:].split("\n", 1)[0]  # a comment after the value
    return text[:colon] + rest.rstrip() + block + text[end + len(rest) :]


def _find_node(node: Any, path: Path) -> tuple[Any, Any, bool]:
    """Find a key of a mapping and its value, and whether it stands within braces or brackets."""
    key, in_flow = node, False
    for part in path:
        in_flow = in_flow or bool(node.flow_style)
        if isinstance(part, int):
            key, node = node.value[part], node.value[part]
        else:
            key, node = next((k, v) for k, v in node.value if k.value == part)
    return key, node, in_flow


def _find_end(node: Any) -> int:
    """Find where a value ends: a block ends with the last value in it, and not with the comments after it."""
    if isinstance(node.value, list) and not node.flow_style and node.value:
        last = node.value[-1]
        return _find_end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _write_flow(row: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import SafeRepresenter

    class Representer(SafeRepresenter):
        """Writes times as ISO 8601 has them."""

    tag = "tag:yaml.org,2002:timestamp"
    Representer.add_representer(datetime, lambda self, time: self.represent_scalar(tag, time.isoformat()))
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Representer = Representer
    yaml.default_flow_style = True
    yaml.width = 1 << 20
    yaml.sort_base_mapping_type_on_output = False
    out = io.StringIO()
    yaml.dump(dict(row), out)
    return out.getvalue().strip()


def _to_plain(node: Any, file: YamlFile, left: list[int], path: Path) -> Any:
    """Convert ruamel's values to plain ones: keys are texts, and times are datetimes."""
    left[0] -= 1
    if left[0] < 0:
        raise InvalidPipeline([Mistake(f"{file.path} has more than {MOST_VALUES:,} values, aliases resolved")])
    if isinstance(node, dict):
        return {str(key): _to_plain(value, file, left, (*path, key)) for key, value in node.items()}
    if isinstance(node, list):
        return [_to_plain(value, file, left, (*path, i)) for i, value in enumerate(node)]
    if isinstance(node, bool) or node is None:
        return node
    if isinstance(node, datetime):
        whole = datetime(node.year, node.month, node.day, node.hour, node.minute, node.second, node.microsecond)
        return whole if node.tzinfo is None else whole.replace(tzinfo=node.tzinfo)
    if isinstance(node, date):
        return node
    for plain in (int, float, str):
        if isinstance(node, plain):
            return plain(node)
    tag = getattr(getattr(node, "tag", None), "value", None) or ("!!binary" if isinstance(node, bytes) else "!!set")
    message = f"expects a plain value, got one with the tag {tag.replace('tag:yaml.org,2002:', '!!')}"
    raise InvalidPipeline([Mistake(message, path, file.find_place(path))])


def _position(node: Any, part: str | int, *, of_value: bool) -> tuple[int, int] | None:
    """Find the line and column of an item: of a value that stands beside its key, and else of the key."""
    marks = getattr(node, "lc", None)
    if marks is None or marks.data is None:
        return None
    if isinstance(node, dict):
        if part not in marks.data:  # it is missing, or comes from an alias that is merged into the mapping
            return None
        return tuple(marks.value(part) if of_value and _is_scalar(node[part]) else marks.key(part))
    if isinstance(part, int) and part < len(node):
        return tuple(marks.item(part))
    return None


def _is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def _place(name: str, mark: Any) -> FilePlace:
    return FilePlace(name, 1, 1) if mark is None else FilePlace(name, mark.line + 1, mark.column + 1)


def _describe_duplicate(error: Any) -> str:
    key = str(error.problem or "").split('"')
    return f"the key {key[1]!r} stands here for the second time" if len(key) > 1 else "a key stands here twice"


def _describe_syntax(error: Any, text: str) -> str:
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())] or "\\t" in str(error.problem):
        return "not YAML: the line is indented by a tab. YAML takes spaces only"
    if "undefined alias" in str(error.problem):
        return f"not YAML: {error.problem}"
    said = " ".join(part for part in (error.context, error.problem) if part)
    return f"not YAML: {said}"


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else repr(value)[:60]
