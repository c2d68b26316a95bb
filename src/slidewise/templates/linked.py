"""How functions that only kernels call are compiled: they are linked into their callers, and have no machine code.

numba optimises and emits every function by itself before it links it into a caller, where it is optimised and emitted
once more, inlined or not. Of the first fiba that was 3 of 7 s, of the first median 2 of 9.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler


class LinkedLibrary(JITCodeLibrary):
    """The code of one function and of those that it calls, for others to link in."""

    def finalize(self) -> None:
        """Link in what this calls. What calls itself is called by its address, so that it needs machine code."""
        if any(v.name.startswith(RuntimeLinker.PREFIX) for v in self._final_module.global_variables):
            super().finalize()
            return
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if not __import__("os").environ.get("NOOPT"):
            self._optimize_final_module()
        self._final_module.verify()
        self._finalized = True

    def serialize_using_object_code(self) -> Any:
        """Keep in numba's cache what can be linked."""
        return self.serialize_using_bitcode()

    @property
    def codegen(self) -> Any:
        """Take the environment, too, which machine code alone reads."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Tell machine code where its environment is."""
        if self._codegen._engine.is_symbol_defined(name):
            self._codegen.set_env(name, environment)


class LinkedCompiler(Compiler):
    """numba's compiler, for functions that are linked into kernels."""

    def define_pipelines(self) -> Any:
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()
