"""How functions that only kernels call are compiled: they are linked into their callers, and have no machine code.

numba writes machine code of every function by itself, though it links and inlines the same function into its callers,
whose machine code it writes then. Of the first fiba that was 1.6 of 7.4 s, of the first median 1.3 of 9.3.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler


class LinkedLibrary(JITCodeLibrary):
    """The code of one function and of those that it calls, for others to link in."""

    #: whether it reads Python objects where it runs, as print and objmode do
    _reads_environment = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Add code."""
        loads = (i for f in ir_module.functions for b in f.blocks for i in b.instructions if i.opname == "load")
        self._reads_environment |= any("NumbaEnv" in getattr(i.operands[0], "name", "") for i in loads)
        super().add_ir_module(ir_module)

    def finalize(self) -> None:
        """Link in what this calls. Machine code is still needed of what calls itself, by its address, or has an
        environment, which numba writes there."""
        calls_itself = any(v.name.startswith(RuntimeLinker.PREFIX) for v in self._final_module.global_variables)
        if calls_itself or self._reads_environment:
            super().finalize()
            return
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._optimize_final_module()
        self._final_module.verify()
        self._finalized = True

    def serialize_using_object_code(self) -> Any:
        """Write for numba's cache what can be linked."""
        return self.serialize_using_bitcode()

    @property
    def codegen(self) -> Any:
        """Return what takes the environment of a function: this."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Hand the environment to machine code, where there is some."""
        if self._codegen._engine.is_symbol_defined(name):
            self._codegen.set_env(name, environment)


class LinkedCompiler(Compiler):
    """numba's compiler, for functions that are linked into kernels."""

    def define_pipelines(self) -> Any:
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()
