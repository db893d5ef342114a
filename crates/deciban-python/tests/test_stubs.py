"""Stubs say what the sources do: the same public names, with the same parameters and defaults."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import deciban

STUBS = sorted(Path(deciban.__file__).parent.glob("**/*.pyi"))


def parameters(function):
    told = function.args
    return [arg.arg for arg in [*told.posonlyargs, *told.args, *told.kwonlyargs]] + [
        arg.arg for arg in (told.vararg, told.kwarg) if arg
    ]


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.stem)
def test_stub(path):
    stub, source = (ast.parse(file.read_text()) for file in (path, path.with_suffix(".py")))
    assert declared(stub, "") == {name: told for name, told in declared(source, "").items() if name in declared(stub, "")}
    module = importlib.import_module("deciban" if path.stem == "__init__" else f"deciban.{path.stem}")
    public = {name for name, item in vars(module).items() if inspect.isfunction(item) and item.__module__ == module.__name__}
    assert {name for name in public if not name.startswith("_")} <= set(declared(stub, "")) | {"encoded"}


def declared(tree, prefix):
    """The parameters and defaults of every function and method."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= declared(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            defaults = [ast.unparse(d) for d in [*node.args.defaults, *node.args.kw_defaults] if d is not None]
            found[prefix + node.name] = (parameters(node), defaults)
    return found


def test_there_are_stubs():
    assert {path.stem for path in STUBS} == {"__init__", "_classifier", "decide", "evaluate", "transform"}
    assert (Path(deciban.__file__).parent / "py.typed").exists()
