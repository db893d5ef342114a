"""Runs the blocks of Python on a page of the documentation."""

import doctest
import re
from pathlib import Path

PROJECT = Path(__file__).parents[3]


def run_page(page, monkeypatch, folder, examples="examples"):
    """Every block, one after the other, in a folder where `examples` is the project's. Programs that do not follow
    Python into the folder need the whole path of `examples`."""
    (folder / "examples").symlink_to(PROJECT / "examples")
    monkeypatch.chdir(folder)
    text = (PROJECT / page).read_text().replace('"examples/', f'"{examples}/')
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    told = []
    runner.run(test, out=told.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(told)
