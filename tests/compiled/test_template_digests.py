"""Every template can be digested: one name that cannot be would have its kernels compiled in every process."""

import pytest

from slidewise.registry.algorithms import ALGORITHMS
from slidewise.templates.bind import functions_of
from slidewise.templates.digest import digest

# pba's kernels are its drivers alone, run by a function that starts a thread
NAMES = [e.name for e in ALGORITHMS if e.compiled and e.name != "pba"]


@pytest.mark.parametrize("name", NAMES)
def test_a_template_can_be_digested(name):
    module = next(e.module for e in ALGORITHMS if e.name == name)
    assert digest(*functions_of(module))
