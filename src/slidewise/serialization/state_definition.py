"""Definition: what a state belongs to, as text; its fingerprint, and how two of them differ."""

from __future__ import annotations

import hashlib

from slidewise.serialization import codec

#: What is defined, and how; in the order in which differences are told.
Definition = dict[str, str]


def fingerprint(definition: Definition) -> bytes:
    """Digest a definition to 16 bytes."""
    return hashlib.blake2b(codec.encode(definition), digest_size=16).digest()


def differences(saved: Definition, here: Definition) -> str:
    """Say what differs."""
    return "; ".join(
        f"{part} was {saved.get(part) or 'not given'}, and is {here.get(part) or 'not given'} here"
        for part in dict.fromkeys([*here, *saved])
        if saved.get(part) != here.get(part)
    )
