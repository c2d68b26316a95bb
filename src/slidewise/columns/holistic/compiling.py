"""How the kernels of this folder are compiled: on first use, and kept on disk.

numba's cache looks at the file of a kernel, not at the files of what it calls. The digest of the whole
folder is therefore a part of every kernel's name: where one line changes, none of the old machine code is
found.

A kernel is compiled with all that it calls, again for every caller. The first median took 18 s so, then 10, and 7 now:
kernels call leaves and hardly anything in between; leaves have no wrapper to be called from Python, and no machine code
(templates/linked.py); arrays come from Python, and parts of them as an offset and a size; no array is assigned to a
slice (2.4 s), viewed as another type, nor reduced by a method; numba's min and max are written out; and a constant
argument is written int64(0), since for 0 numba would compile once more.
"""

from hashlib import sha256
from importlib.resources import files

from numba.extending import register_jitable

from slidewise.templates.cache import cached_njit, choose_linking

__all__ = ["helper", "kernel", "leaf"]

_FOLDER = {p.name: p for p in files("slidewise.columns.holistic").iterdir() if p.name.endswith(".py")}  # or a zip's
_SOURCES = sha256(b"".join(_FOLDER[name].read_bytes() for name in sorted(_FOLDER))).hexdigest()[:12]

#: there are no array expressions to rewrite, and no divisions by zero: both would be looked for in vain
_PLAIN = {"no_rewrites": True, "error_model": "numpy"}

#: A function that is compiled into the kernels that call it. In a loop it takes numbers only: numba counts the
#: references to arrays at every call, even of what is inlined later (the mode took 32 ns a row so, and 13 without).
helper = register_jitable(no_cfunc_wrapper=True, **choose_linking(), **_PLAIN)


def kernel(function, **options):
    """Compile a function by itself, without the GIL, cached on disk."""
    function.__qualname__ += "_" + _SOURCES
    return cached_njit(function, **_PLAIN, **options)


def leaf(function):
    """Compile a function for kernels alone to call: from Python it would crash. A third less to compile."""
    return kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **choose_linking())
