"""The examples run, the documentation's examples are right, and all of it is typed."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest
from conftest import CAPTURE, HAS_SPARK, ROOT, SCENARIOS

import rdmawire

EXAMPLES = ROOT / "examples" / "python"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(*args: object) -> str:
    done = subprocess.run([sys.executable, *map(str, args)], capture_output=True, text=True, encoding="utf-8", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_why_is_this_queue_pair_slow() -> None:
    told = run(EXAMPLES / "slow_qp.py", CAPTURE)
    assert told.startswith("10.77.0.1 → 10.77.0.2 QP 0x11, RC: 279 packets\n")
    assert "85 retransmitted packets" in told and "losses before the tap: 1 (1 to 2 packets)" in told
    told = run(EXAMPLES / "slow_qp.py", CAPTURE, "10.77.0.2,10.77.0.1,0x11")
    assert "nothing stands out" in told
    done = subprocess.run([sys.executable, str(EXAMPLES / "slow_qp.py"), "none.pcap"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "slow_qp: none.pcap: no such file or directory\n")


def test_a_gate() -> None:
    assert "3 passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLES / "test_gate.py")


def test_a_data_frame() -> None:
    told = run(EXAMPLES / "dataframe.py", CAPTURE)
    assert "10.77.0.1" in told and "DuckDB: 2 rows, the same" in told
    # Queue pairs with as many bytes, and of one number.
    assert "DuckDB: 4 rows, the same" in run(EXAMPLES / "dataframe.py", ROOT / "pcaps" / "cm_rej-A.pcap.zst")


def test_a_spark_job(tmp_path: Path) -> None:
    if not HAS_SPARK:
        pytest.skip("skipped: pyspark or Java is not installed")
    told = run(EXAMPLES / "spark_job.py", tmp_path / "out", f"leaf1={CAPTURE}", f"leaf2={CAPTURE}")
    assert [line.split("  ")[:2] for line in told.splitlines()] == [["leaf1", "loss.upstream"], ["leaf2", "loss.upstream"]]


def test_an_index_in_duckdb(tmp_path: Path) -> None:
    from test_rows import index_of

    index_of([CAPTURE], tmp_path / "tap=leaf1" / "hour=2026-11-21T10", 3)
    told = run(EXAMPLES / "duckdb_index.py", tmp_path)
    assert "leaf1  2026-11-21T10" in told and "299 frames" in told and "had 1 loss before the tap" in told


def test_a_ray_job() -> None:
    pytest.importorskip("ray")
    assert "leaf1  error  QP 0x11" in run(EXAMPLES / "ray_job.py", f"leaf1={CAPTURE}")


MODULES = ["__init__", "_analyze", "_check", "_errors", "_frames", "_scapy", "taps"]


def globs() -> Dict[str, Any]:
    return {"CAPTURE": CAPTURE, "SCENARIOS": SCENARIOS}


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    module = importlib.import_module("rdmawire" if name == "__init__" else f"rdmawire.{name}")
    failed, tried = doctest.testmod(module, extraglobs=globs(), optionflags=FLAGS)
    assert failed == 0 and tried > 0


def test_docstrings_of_the_native_part() -> None:
    stub = Path(rdmawire.__file__).with_name("_native.pyi")
    tried = 0
    for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node) or ""
            test = doctest.DocTestParser().get_doctest(text, globs(), node.name, str(stub), node.lineno)
            failed, ran = doctest.DocTestRunner(optionflags=FLAGS).run(test)
            assert failed == 0
            tried += ran
    assert tried > 0


def test_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    path = ROOT / "python" / "README.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, path.name, str(path), 0)
    failed, tried = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert failed == 0 and tried > 10


def test_types(tmp_path: Path) -> None:
    args = ["-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path)]
    assert run(*args, "-p", "rdmawire") == ""
    assert run(*args, *sorted(EXAMPLES.glob("*.py")), *sorted((ROOT / "python" / "tests").glob("*.py"))) == ""
