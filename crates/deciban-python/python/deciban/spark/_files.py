"""Frames that are nothing but a scan of files: tasks read them with deciban's own reader."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlparse

from .. import _core

#: Rows of a share of Parquet files, at least and at most, about. Starting a task takes as long as reading a quarter of a
#: million rows of 20 columns, so that few rows are shared out to few tasks.
SHARE, LARGEST = 1 << 20, 1 << 23

#: Tasks of files that are not large.
TASKS = 8

#: Bytes of a share of delimited text.
BYTES = 64 << 20


def paths(frame) -> list[str] | None:
    """The files of the frame, if this machine sees them all."""
    found = []
    for url in frame.inputFiles():
        parts = urlparse(url)
        path = unquote(parts.path)
        if parts.scheme not in ("", "file") or not os.path.exists(path):
            return None
        found.append(path)
    return sorted(found)


def is_scan(frame) -> bool:
    """Whether the frame is a plain scan of Parquet files: no filter, no other column, no partition in the path.

    A scan of CSV files is not taken for one: Spark and deciban read text by rules of their own (what is missing, what
    escapes a quote, what is a date), and the same frame must have the same rows whoever reads it.
    """
    plan = getattr(frame, "_plan", None)
    if plan is not None:  # Spark Connect
        return type(plan).__name__ == "DataSource" and (getattr(plan, "_format", None) or "").lower() == "parquet"
    analyzed = frame._jdf.queryExecution().analyzed().toString().strip()
    return re.fullmatch(r"Relation \[[^\n]*\] parquet", analyzed) is not None


def shares(frame, asked: bool) -> list | None:
    """For each task its files, or parts of them; `None` if the frame is read by Spark."""
    if not asked and not is_scan(frame):
        return None
    files = paths(frame)
    if not files:
        if asked:
            raise ValueError("source='files': the frame has no files that the driver can see")
        return None
    if not asked and any(re.search(r"/[^/=]+=[^/]*/", path) for path in files):
        return None  # Some columns are in the paths.
    if not all(path.endswith(".parquet") for path in files):
        parts = ((path, _core.byte_shares(path, BYTES) or [None]) for path in files)
        return [[(path, part)] for path, own in parts for part in own]
    groups = [(path, group, count) for path in files for group, count in enumerate(_core.row_groups(path))]
    enough = max(SHARE, min(LARGEST, sum(count for _, _, count in groups) // TASKS))
    wanted, share, rows = [], [], 0
    for path, group, count in groups:
        share.append((path, (group, group + 1)))
        rows += count
        if rows >= enough:
            wanted.append(joined(share))
            share, rows = [], 0
    return wanted + ([joined(share)] if share else [])


def joined(share: list) -> list:
    """Neighbouring row groups of a file as one."""
    found = []
    for path, (start, end) in share:
        if found and found[-1][0] == path and found[-1][1][1] == start:
            found[-1] = (path, (found[-1][1][0], end))
        else:
            found.append((path, (start, end)))
    return found
