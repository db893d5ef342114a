"""The examples in docstrings give what they show."""

import doctest
import importlib
import pkgutil

import pytest

import deciban
from pages import run_page

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


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/requests.md", "docs/scale.md", "crates/deciban-python/README.md"])
def test_the_pages(page, monkeypatch, tmp_path):
    run_page(page, monkeypatch, tmp_path)
