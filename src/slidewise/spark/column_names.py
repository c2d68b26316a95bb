"""Names of columns of our own beside the user's."""

from __future__ import annotations

from collections.abc import Iterable

from slidewise.errors import InvalidInput


def find_unused_prefix(names: Iterable[str]) -> str:
    """Find a prefix for our own names that none of these has, whether or not Spark tells capitals apart.

    >>> find_unused_prefix(["x", "slidewise_0"]), find_unused_prefix(["x", "__Slidewise_0"])
    ('__slidewise_', '___slidewise_')
    """
    prefix, taken = "__slidewise_", [name.lower() for name in names]
    while any(name.startswith(prefix) for name in taken):
        prefix = f"_{prefix}"
    return prefix


def require_distinct(names: Iterable[str], heeds_capitals: bool, what: str) -> None:
    """Refuse columns that Spark could not tell apart; `heeds_capitals` is spark.sql.caseSensitive."""
    seen: dict[str, str] = {}
    for name in names:
        folded = name if heeds_capitals else name.lower()
        if folded in seen:
            why = (
                "" if seen[folded] == name else ", which it does not tell apart while spark.sql.caseSensitive is false"
            )
            raise InvalidInput(
                f"{what}: Spark would find two columns by one name, {seen[folded]!r} and {name!r}{why}. Rename one"
            )
        seen[folded] = name
