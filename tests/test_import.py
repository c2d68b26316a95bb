"""import slidewise is cheap, and loads neither numba nor pyspark."""

import subprocess
import sys

CODE = """
import slidewise, sys
print(sorted({"numba", "pyspark", "pyarrow", "numpy", "datasketches"} & sys.modules.keys()))
"""


def test_import_loads_neither_numba_nor_pyspark():
    out = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_public_name_is_there_and_documented():
    import slidewise as sw

    for name in sw.__all__:
        assert getattr(sw, name).__doc__ or name == "UNBOUNDED", name
