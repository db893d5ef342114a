"""The examples in docstrings give what they show."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import deciban

MODULES = [module.name for module in pkgutil.walk_packages(deciban.__path__, "deciban.") if "_core" not in module.name]


@pytest.mark.parametrize("name", ["deciban", *MODULES])
def test_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    # A module whose public classes show no example tests nothing.
    public = [item for item in vars(module).values() if getattr(item, "__module__", None) == name and isinstance(item, type)]
    shown = [item.__name__ for item in public if hasattr(item, "predict") and hasattr(item, "fit") and ">>>" not in (item.__doc__ or "")]
    assert [n for n in shown if n not in ("Predictions", "Counted", "FitFromMoments")] == []


PROJECT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/requests.md", "docs/scale.md", "crates/deciban-python/README.md"])
def test_the_pages(page, monkeypatch, tmp_path):
    """Every block of Python on a page, one after the other, in a folder where `examples` is the project's."""
    (tmp_path / "examples").symlink_to(PROJECT / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (PROJECT / page).read_text(), flags=re.DOTALL)
    assert blocks
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    told = []
    runner.run(test, out=told.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(told)
