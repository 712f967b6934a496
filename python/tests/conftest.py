"""What all tests share. They run on the installed package."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PCAPS = ROOT / "pcaps"
CAPTURE = PCAPS / "loss1_rc_write-B-300.pcap"
SCENARIOS = ROOT / "examples" / "scenarios"
# Spark's workers run the interpreter of the tests.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
HAS_SPARK = importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None
ALL = sorted(path for path in PCAPS.iterdir() if ".pcap" in path.name)


@pytest.fixture(scope="session")
def capture() -> Path:
    return CAPTURE


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Runs the command line, and gives its standard output."""
    asked = os.environ.get("RDMAWIRE_COMMAND")
    built = [ROOT / "target" / profile / "rdmawire" for profile in ("release", "debug")]
    built = sorted((path for path in built if path.exists()), key=lambda path: -path.stat().st_mtime)
    program = asked or (str(built[0]) if built else shutil.which("rdmawire"))
    if program is None:
        pytest.skip("skipped: the command line is not built: cargo build")

    def run(*args: object) -> str:
        # Exit status 1 and 2 tell of the capture.
        done = subprocess.run([str(program), *map(str, args)], capture_output=True, text=True, encoding="utf-8")
        assert done.returncode in (0, 1, 2) and done.stdout, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def command_json(command: Callable[..., str]) -> Callable[..., Dict[str, Any]]:
    def run(*args: object) -> Dict[str, Any]:
        told: Dict[str, Any] = json.loads(command(*args))
        return told

    return run
