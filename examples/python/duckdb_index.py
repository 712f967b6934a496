"""Asks DuckDB about an index before any analysis: python duckdb_index.py INDEX

INDEX is what `rdmawire index` wrote: a directory of Parquet files by tap, hour and bucket. Which pairs of hosts send the most, on which tap, and when?
The tap of interest is then analyzed by itself, wherever this script runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import List

import duckdb

from rdmawire import taps

QUESTION = """
    select tap, hour, pair, count(*) as frames, sum(length_bytes) as bytes, count(*) filter (icrc_state = 1) as bad_icrcs
    from read_parquet(?, hive_partitioning = true)
    where frame > 0 and pair is not null
    group by all order by bytes desc limit 10
"""


def main(arguments: List[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    index = Path(arguments[0])
    rows = duckdb.execute(QUESTION, [f"{index}/**/*.parquet"]).fetchall()
    for tap, hour, pair, frames, size, bad in rows:
        print(f"{tap}  {hour}  pair {pair:08x}  {frames} frames  {size} bytes  {bad} wrong ICRCs")
    if rows:
        busiest = rows[0][0]
        for finding in taps.analyze_index(index / f"tap={busiest}").findings:
            print(f"{busiest}  {finding.severity}  {finding.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
