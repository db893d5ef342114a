"""Stubs say what the package is: the same public names, with the same parameters and defaults."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import deciban

PACKAGE = Path(deciban.__file__).parent
STUBS = sorted(PACKAGE.glob("**/*.pyi"))


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def told(function):
    """Name, kind and default of each parameter of a function in a stub, but for the object itself."""
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    defaults = [inspect.Parameter.empty] * (len(plain) - len(args.defaults)) + [*map(ast.literal_eval, args.defaults)]
    found = [(arg.arg, "plain", default) for arg, default in zip(plain, defaults)]
    found += [(args.vararg.arg, "*", inspect.Parameter.empty)] if args.vararg else []
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        found.append((arg.arg, "keyword", inspect.Parameter.empty if default is None else ast.literal_eval(default)))
    found += [(args.kwarg.arg, "**", inspect.Parameter.empty)] if args.kwarg else []
    return [parameter for parameter in found if parameter[0] not in ("self", "cls")]


def real(function):
    """The same of a function as it is."""
    kinds = {"POSITIONAL_ONLY": "plain", "POSITIONAL_OR_KEYWORD": "plain", "KEYWORD_ONLY": "keyword"}
    kinds |= {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
    found = [(p.name, kinds[p.kind.name], p.default) for p in inspect.signature(function).parameters.values()]
    return [parameter for parameter in found if parameter[0] not in ("self", "cls")]


def public(scope, module):
    """What a module or class defines itself for others to use."""
    own = lambda item: getattr(item, "__module__", None) in (module, None)  # noqa: E731
    is_told = lambda item: inspect.isroutine(item) or inspect.isclass(item) or isinstance(item, (property, classmethod))  # noqa: E731
    return {name for name, item in vars(scope).items() if not name.startswith("_") and is_told(item) and own(item)}


@pytest.mark.parametrize("path", STUBS, ids=module_name)
def test_stub(path):
    name = module_name(path)
    module, compared = importlib.import_module(name), 0
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            assert told(node) == real(getattr(module, node.name)), node.name
            compared += 1
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            compared += compare_class(node, getattr(module, node.name))
    assert compared > 0 or name == "deciban"
    body = ast.parse(path.read_text()).body
    declared = {node.target.id if isinstance(node, ast.AnnAssign) else getattr(node, "name", None) for node in body}
    named = {alias.asname for node in ast.walk(ast.parse(path.read_text())) for alias in getattr(node, "names", [])}
    assert set(getattr(module, "__all__", [])) <= declared | named
    # `encoded` is a step of `fit`, and of no use without it.
    assert public(module, name) <= declared | {"encoded", "Floats"}


def compare_class(stub, real_class):
    names = set()
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
            found = getattr(real_class, node.name)
            if any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
                assert inspect.isdatadescriptor(found), f"{stub.name}.{node.name}"
            elif node.name == "__new__":
                assert told(node) == real(real_class), stub.name
            else:
                assert told(node) == real(found), f"{stub.name}.{node.name}"
    assert public(real_class, real_class.__module__) <= names, stub.name
    return len(names)


def test_stubs_pass_stubtest(tmp_path):
    settings = tmp_path / "mypy.ini"
    # Errors in the code of others, and in modules without a stub, are not those of the stubs.
    settings.write_text("[mypy]\nignore_errors = True\nignore_missing_imports = True\n")
    modules = ["deciban.spark", "deciban._classifier", "deciban.evaluate", "deciban.decide", "deciban.plot", "deciban.transform"]
    command = [sys.executable, "-m", "mypy.stubtest", "--concise", "--mypy-config-file", settings, *modules]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_of_models_are_literals():
    told = next(node for node in ast.parse((PACKAGE / "_classifier.pyi").read_text()).body if isinstance(node, ast.Assign) and node.targets[0].id == "_ModelName")
    names = {name.value for name in told.value.slice.elts}
    with pytest.raises(ValueError) as error:
        deciban.Classifier(models=["gausian"]).fit([[1.0], [2.0]] * 9, [0, 1] * 9)
    known = str(error.value).split("there are ")[1].split(", ")
    assert names == {"auto", "fused", *known}


def test_there_are_stubs():
    expected = {name for name in deciban.__all__ if inspect.ismodule(getattr(deciban, name))} | {"plot", "sklearn", "spark"}
    found = {module_name(path) for path in STUBS}
    assert {f"deciban.{name}" for name in expected} | {
        f"deciban{name}" for name in ("", "._core", "._classifier", "._comparison", "._ledger", "._statistics")
    } == found
    assert (PACKAGE / "py.typed").exists()
    # What stubs import is there wherever the package is: NumPy, scikit-learn for its drop-ins, and Spark for its own.
    for path in STUBS:
        roots = {n.split(".")[0] for node in ast.walk(ast.parse(path.read_text())) for n in imported(node)}
        spark = {"pyspark"} if path.parent.name == "spark" else set()
        assert roots <= {"collections", "dataclasses", "os", "typing", "numpy", "sklearn", ""} | spark, path


def imported(node):
    if isinstance(node, ast.ImportFrom):
        return ["" if node.level else node.module]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def test_a_wrong_stub_is_told():
    right = ast.parse("def f(X, y=1, *, z=None, **o): ...").body[0]
    assert told(right) == real(lambda X, y=1, *, z=None, **o: None)
    for wrong in (lambda X, y=2, *, z=None, **o: 0, lambda X, y=1, z=None, **o: 0, lambda X, *, z=None, **o: 0):
        assert told(right) != real(wrong)
    assert told(right)[0][2] is inspect.Parameter.empty
