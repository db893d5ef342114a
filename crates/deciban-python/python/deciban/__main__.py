"""The program: ``python -m deciban`` and the script ``deciban`` run the same code as the one that cargo builds."""

import signal
import sys

from ._core import program


def main() -> int:
    """Runs the program with the arguments of this process."""
    # The program ends at once on Ctrl-C; Python would only take note of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return program(["deciban", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
