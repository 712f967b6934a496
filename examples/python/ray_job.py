"""Analyzes the captures of many taps in Ray: python ray_job.py TAP=CAPTURE...

Each tap is a task of its own, on any machine that can open its captures. What Ray does here, a process pool or Kubernetes jobs do as well.
"""

from __future__ import annotations

import importlib
import sys
from typing import Dict, List

from rdmawire import taps


def findings(tap: str, captures: List[str]) -> List[str]:
    report = taps.analyze_captures(captures)
    return [f"{tap}  {finding.severity}  {finding.text}" for finding in report.findings]


def main(arguments: List[str]) -> int:
    if not arguments or not all("=" in argument for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    captures: Dict[str, List[str]] = {}
    for tap, _, path in (argument.partition("=") for argument in arguments):
        captures.setdefault(tap, []).append(path)
    ray = importlib.import_module("ray")
    ray.init(log_to_driver=False)
    task = ray.remote(findings)
    for lines in ray.get([task.remote(tap, files) for tap, files in captures.items()]):
        print(*lines, sep="\n")
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
