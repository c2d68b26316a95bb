"""Aggregations of your own, from a Python file beside the pipeline's: `use: "features:Vwap"`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.errors import InvalidInput
from slidewise.suggest import suggest


def load_class(reference: Any, folder: Path) -> type[Aggregation]:
    """Load a class by "file:Class"; the file stands in the folder, or is a module that is installed."""
    if not isinstance(reference, str) or reference.count(":") != 1 or not all(reference.split(":")):
        raise InvalidInput(f'use: names a file and a class in it, as in "features:Vwap", got {reference!r}')
    name, class_name = reference.split(":")
    module = _load_module(name, folder)
    found = getattr(module, class_name, None)
    if found is None:
        classes = [n for n, c in vars(module).items() if _is_own(c)]
        near = suggest(class_name, classes) if classes else "It has no aggregation at all"
        raise InvalidInput(f"{name} has no {class_name!r}. {near}")
    if not _is_own(found):
        kind = "class" if isinstance(found, type) else type(found).__name__
        raise InvalidInput(f"{reference} is a {kind} and no aggregation. Derive a class from sw.Aggregation")
    return found


def _is_own(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, Aggregation) and found is not Aggregation


def _load_module(name: str, folder: Path) -> ModuleType:
    file = folder / (name.replace(".", "/") + ".py")
    if not file.is_file():
        try:
            return importlib.import_module(name)
        except ImportError:
            others = sorted(path.stem for path in folder.glob("*.py"))
            near = suggest(name, others) if others else f"There is no Python file in {folder}"
            raise InvalidInput(f"there is no {file.name} beside the pipeline, nor a module {name!r}. {near}") from None
    return run_file(file)


def run_file(file: Path) -> ModuleType:
    """Run a Python file as a module. Executors get its classes by value, so that they need no such file."""
    # By path and content: two projects may both have a features.py, and one may be changed between two loads.
    content = file.read_bytes()
    digest = hashlib.sha256(str(file.resolve()).encode() + b"\0" + content).hexdigest()[:12]
    module_name = f"slidewise_own_{file.stem}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # before it runs: dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        said = error.msg if isinstance(error, SyntaxError) else error
        raise InvalidInput(f"{file.name}{_find_line(error, file)} fails: {type(error).__name__}: {said}") from error
    _ship_by_value(module)
    return module


def _find_line(error: Exception, file: Path) -> str:
    if isinstance(error, SyntaxError):
        return f", line {error.lineno},"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f", line {lines[-1]}," if lines else ""


def _ship_by_value(module: ModuleType) -> None:
    try:
        from pyspark import cloudpickle
    except ImportError:
        return
    cloudpickle.register_pickle_by_value(module)
