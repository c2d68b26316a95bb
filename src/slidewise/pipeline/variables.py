"""Variables in a file: `${lake}` from `vars:` or `--var`; `${env:NAME}` from the environment, which is secret."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slidewise.pipeline.mistakes import Mistake, Path
from slidewise.suggest import suggest

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)\}|\$\{")
MASK = "***"
#: Shorter ones are hidden as whole words only: hiding every "a" would hide the rest, too.
SHORT = 4


@dataclass
class Secrets:
    """Values from the environment, which appear in no log, page, plan or error."""

    values: set[str] = field(default_factory=set)

    def mask(self, text: str) -> str:
        """Replace every secret in a text by asterisks."""
        for value in sorted(filter(None, self.values), key=len, reverse=True):
            if len(value) >= SHORT:
                text = text.replace(value, MASK)
            else:
                text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", MASK, text)
        return text


@dataclass
class Variables:
    """The variables of a file, resolved on demand."""

    given: Mapping[str, Any]
    secrets: Secrets = field(default_factory=Secrets)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    mistakes: list[Mistake] = field(default_factory=list)

    def fill(self, value: Any, path: Path = ()) -> Any:
        """Fill in the variables of a value and all inside it. What is wrong is noted in `mistakes`.

        >>> Variables({"lake": "data"}).fill({"path": "${lake}/payments", "sql": "$${as it is}"})
        {'path': 'data/payments', 'sql': '${as it is}'}
        """
        if isinstance(value, dict):
            return {key: self.fill(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner, (*path, i)) for i, inner in enumerate(value)]
        if isinstance(value, str) and "${" in value:
            return self._fill_text(value, path, ())
        return value

    def _fill_text(self, text: str, path: Path, on_the_way: tuple[str, ...]) -> str:
        return _REFERENCE.sub(self._replacer(path, on_the_way), text)

    def _replacer(self, path: Path, on_the_way: tuple[str, ...]) -> Callable[[re.Match[str]], str]:
        def replace(found: re.Match[str]) -> str:
            if found[0] == "$${":
                return "${"
            if found[1] is None:
                return self._refuse("'${' has no closing '}'. Text that begins so is written $${", path, found[0])
            return self._resolve(found[1].strip(), path, on_the_way)

        return replace

    def _resolve(self, name: str, path: Path, on_the_way: tuple[str, ...]) -> str:
        if name.startswith("env:"):
            return self._read_environment(name.removeprefix("env:"), path)
        if name in on_the_way:
            circle = " -> ".join([*on_the_way[on_the_way.index(name) :], name])
            return self._refuse(f"the variable {name!r} is defined by itself: {circle}", path, name)
        if name not in self.given:
            near = suggest(name, self.given) if self.given else "There are none: define it under vars:"
            return self._refuse(f"there is no variable {name!r}. {near}", path, name)
        value = self.given[name]
        if isinstance(value, dict | list) or value is None:
            shown = "nothing" if value is None else repr(value)
            return self._refuse(f"the variable {name!r} is a text or a number, got {shown}", path, name)
        if isinstance(value, bool):
            value = str(value).lower()
        return self._fill_text(str(value), path, (*on_the_way, name))

    def _read_environment(self, name: str, path: Path) -> str:
        value = self.environment.get(name)
        if value is None:
            return self._refuse(f"the environment has no {name}. Set it: export {name}=...", path, name)
        self.secrets.values.add(value)
        return value

    def _refuse(self, message: str, path: Path, instead: str) -> str:
        mistake = Mistake(message, path)
        if mistake not in self.mistakes:
            self.mistakes.append(mistake)
        return instead
