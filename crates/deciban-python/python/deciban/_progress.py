"""How far long work has come: a line in terminals, a bar in notebooks, nothing in scripts unless it is asked for."""

from __future__ import annotations

import sys
import time

#: Seconds of work before anything is shown.
PATIENCE = 0.5

#: Characters of a bar.
WIDTH = 24


def is_notebook() -> bool:
    """Whether a kernel of Jupyter runs this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def is_wanted(progress) -> bool:
    """What `progress=` means: None is on where a person waits, in notebooks and at prompts of a terminal."""
    if progress not in (None, True, False):
        raise ValueError(f"progress: give True, False or None, not {progress!r}")
    if progress is not None:
        return bool(progress)
    is_prompt = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    return is_notebook() or (is_prompt and sys.stderr is not None and sys.stderr.isatty())


class Progress:
    """What the core calls while it works; a context that removes what it has shown."""

    def __init__(self, what: str):
        self.what = what
        self.start = time.monotonic()
        self.width = 0
        self.bar = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.bar is not None:
            self.bar.close()
        elif self.width:
            self._write("")
            self._write("", end="\r")

    def __call__(self, passes: int, rows: int, steps: int, expected: int) -> None:
        """So many passes, rows of all passes and steps are done; so many steps are expected."""
        seconds = time.monotonic() - self.start
        if seconds < PATIENCE:
            return
        if is_notebook() and self._in_notebook(steps, expected, f"{passes} passes"):
            return
        self._write(line(self.what, passes, rows, steps, expected, seconds))

    def _in_notebook(self, steps: int, expected: int, rest: str) -> bool:
        """Shows a bar of tqdm, if that is installed."""
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return False
        if self.bar is None:
            self.bar = tqdm(desc=self.what, leave=False)
        self.bar.total = expected or None
        self.bar.n = steps
        self.bar.set_postfix_str(rest, refresh=False)
        self.bar.refresh()
        return True

    def _write(self, text: str, end: str = "") -> None:
        if sys.stderr is None:
            return
        # What stood there before may have been longer.
        sys.stderr.write("\r" + text.ljust(self.width) + end)
        sys.stderr.flush()
        self.width = len(text)


def line(what: str, passes: int, rows: int, steps: int, expected: int, seconds: float) -> str:
    """Progress in a line: a bar where the end is known, else the passes."""
    if expected:
        done = round(WIDTH * min(steps / expected, 1))
        return f"{what} {'█' * done}{'░' * (WIDTH - done)} {steps}/{expected}, {seconds:.0f} s"
    return f"{what}: {passes} {'pass' if passes == 1 else 'passes'}, {rows:,} rows, {seconds:.0f} s"


class Silence:
    """No progress is shown: the core is given nothing to call."""

    def __enter__(self):
        return None

    def __exit__(self, *error):
        pass


def watch(progress, what: str):
    """A context that gives what the core calls, or None."""
    return Progress(what) if is_wanted(progress) else Silence()
