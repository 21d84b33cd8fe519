"""A SQLite file that many processes make at the same moment."""

import sqlite3
import subprocess
import sys
import time

import pytest

from idxopt.shared_file import open_shared

WRITER = """
import sys, time
from pathlib import Path
from idxopt.shared_file import open_shared
time.sleep(max(0.0, float(sys.argv[2]) - time.time()))
connection = open_shared(Path(sys.argv[1]), wait_s=30, synchronous="NORMAL")
connection.execute("create table if not exists rows (value)")
connection.execute("insert into rows values (1)")
"""


def test_processes_that_make_it_at_once_wait_for_each_other(tmp_path):
    for number in range(3):
        path, together = tmp_path / f"{number}.sqlite", str(time.time() + 1.5)
        running = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(path), together], stderr=subprocess.PIPE, text=True)
            for _ in range(8)
        ]
        said = [process.communicate(timeout=120)[1] for process in running]
        assert [process.returncode for process in running] == [0] * 8, said
        assert open_shared(path, wait_s=1, synchronous="OFF").execute("select count(*) from rows").fetchone() == (8,)


def test_one_that_others_hold_is_waited_for_and_then_refused(tmp_path):
    holder = sqlite3.connect(tmp_path / "file", isolation_level=None)
    holder.execute("create table rows (value)")
    holder.execute("begin exclusive")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        open_shared(tmp_path / "file", wait_s=0.2, synchronous="OFF")
    holder.execute("rollback")
    open_shared(tmp_path / "file", wait_s=0.2, synchronous="OFF").close()


def test_a_file_that_is_no_database_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_bytes(b"no database at all" * 100)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        open_shared(tmp_path / "file", wait_s=60, synchronous="OFF")
