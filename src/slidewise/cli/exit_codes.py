"""What the command says to the shell when it ends."""

from __future__ import annotations

FINE = 0
#: a run failed, or something that is needed is missing
FAILED = 1
#: wrong usage, or a wrong file
WRONG = 2
#: an example of a file gives something else than it expects
TEST_FAILED = 3
#: Ctrl-C
INTERRUPTED = 130

DESCRIPTION = (
    f"[bold]Exit codes:[/bold] {FINE} fine · {FAILED} a run failed, or something needed is missing · {WRONG} wrong "
    f"usage, or a wrong file · {TEST_FAILED} a test of a file failed · {INTERRUPTED} Ctrl-C"
)
