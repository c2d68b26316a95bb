"""The two tiers: what pytest runs by itself is the quick one. See support/tiers.py."""

import gc
import signal

import pytest
from hypothesis import settings
from numba import config as numba_config
from support.cpu_times import pytest_addoption, pytest_runtest_protocol
from support.tiers import (
    leave_out_what_is_compiled,
    mark_what_a_covering_leaves_out,
    mark_what_is_compiled,
    mark_what_needs_no_second_run,
)

__all__ = ["pytest_addoption", "pytest_runtest_protocol"]  # hooks

# No deadline: kernels are compiled where they are first needed.
settings.register_profile("quick", max_examples=10, deadline=None)
settings.register_profile("full", max_examples=50, deadline=None)
settings.register_profile("soak", max_examples=100, deadline=None)
settings.load_profile("quick")

# numba makes so many objects that the collector would take a tenth of the time of compiling.
gc.set_threshold(100_000, 20, 20)


# A shell's job in the background ignores Ctrl-C, and so would the programs that tests start and end by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_what_is_compiled(items)
    mark_what_a_covering_leaves_out(items)
    mark_what_needs_no_second_run(items)
    if numba_config.DISABLE_JIT:
        config.hook.pytest_deselected(items=leave_out_what_is_compiled(items))


def pytest_collection_finish() -> None:
    gc.collect()  # what is garbage by now would stay for ever
    gc.freeze()  # tests that call the collector need not wait until it has looked through all of pytest's objects


def pytest_unconfigure() -> None:
    gc.unfreeze()
