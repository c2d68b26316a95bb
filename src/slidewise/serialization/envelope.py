"""The envelope of saved state: what it is, of which definition, and whether it arrived whole.

    magic (8) | version (1) | kind, fingerprint, definition | payload | checksum (16)

The checksum is BLAKE2b over all that precedes it: it misses no damage in practice, where a CRC-32 misses one
in four billion, and at 0.8 GB/s it is never what takes the time. It has no key and so proves no origin:
that hostile bytes can do no harm is the codec's business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from slidewise.errors import StateError
from slidewise.serialization import codec
from slidewise.serialization.state_definition import Definition, differences, fingerprint

MAGIC = b"slidewis"
VERSION = 1
CHECKSUM = 16


def seal(kind: str, definition: Definition, payload: Any, reduce: Callable[[Any], Any] | None = None) -> bytes:
    """Seal plain values as the saved state of a definition; `reduce` as in codec.encode."""
    return seal_encoded((kind, fingerprint(definition), definition, codec.encode(payload, reduce)))


def seal_encoded(parts: tuple[str, bytes, Definition, bytes]) -> bytes:
    """Join the kind, the fingerprint, the definition and the encoded values of a state, with their checksum."""
    data = MAGIC + bytes([VERSION]) + codec.encode(parts)
    return data + _checksum(data)


def unseal(data: bytes, kind: str, definition: Definition, revive: Callable[[Any], Any] | None = None) -> Any:
    """Return the plain values again; refused unless they are whole, of this kind and of this definition."""
    saved, payload = open_sealed(data, kind)
    if fingerprint(saved) != fingerprint(definition):
        raise StateError(
            f"this state is of another definition: {differences(saved, definition)}. "
            "Load it with the definition that saved it"
        )
    return codec.decode(payload, revive)


def open_sealed(data: bytes, kind: str) -> tuple[Definition, bytes]:
    """Return the definition of a state and its encoded values; refused unless they are whole, and of this kind."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise StateError(f"from_bytes takes the bytes that to_bytes() gave, got {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(MAGIC):
        raise StateError(
            f"this is not a state of slidewise: it begins with {data[:8]!r}. from_bytes takes what to_bytes() gave"
        )
    start = len(MAGIC) + 1
    if len(data) < start + CHECKSUM:
        raise StateError(f"saved state is truncated: {len(data)} bytes are left of it. Save it again")
    version = data[start - 1]
    if version > VERSION:
        raise StateError(
            f"this state has format {version}, and this slidewise reads up to {VERSION}. "
            "Load it with the version that saved it, or a newer one"
        )
    if _checksum(memoryview(data)[:-CHECKSUM]) != data[-CHECKSUM:]:
        raise StateError("saved state is damaged or truncated: its checksum is not that of its bytes. Use another copy")
    saved_kind, _, saved, payload = _body(data[start:-CHECKSUM])
    if saved_kind != kind:
        raise StateError(f"this is the state of a {saved_kind}, and a {kind} cannot load it")
    return saved, payload


def _body(data: bytes) -> tuple[str, bytes, Definition, bytes]:
    body = codec.decode(data)
    if not (
        isinstance(body, tuple)
        and [type(part) for part in body] == [str, bytes, dict, bytes]
        and all(type(word) is str for item in body[2].items() for word in item)
    ):
        raise StateError("saved state is damaged: its parts are not those of a state")
    return body


def _checksum(data: bytes | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=CHECKSUM).digest()
