"""Analyzes the captures of many taps in Spark: python spark_job.py OUTPUT TAP=CAPTURE...

Or on a cluster: spark-submit --archives env.tar.gz#environment spark_job.py OUTPUT TAP=CAPTURE... Every worker must have the package, or get
it in a packed environment (docs/spark.md), and be able to open the captures. Writes a directory of Parquet files for each table.
"""

from __future__ import annotations

import importlib
import sys
from typing import List

from rdmawire import spark


def main(arguments: List[str]) -> int:
    if len(arguments) < 2 or not all("=" in argument for argument in arguments[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    output, *pairs = arguments
    captures = [(tap, path) for tap, _, path in (pair.partition("=") for pair in pairs)]
    session = importlib.import_module("pyspark.sql").SparkSession.builder.appName("rdmawire").getOrCreate()
    results = spark.analyze_captures(session, captures).cache()
    for name in ("flows", "connections", "episodes", "losses", "findings"):
        results.table(name).write.mode("overwrite").parquet(f"{output}/{name}")
    worst = results.table("findings").where("severity = 'error'").select("tap", "id", "text")
    for row in worst.collect():
        print(row["tap"], row["id"], row["text"], sep="  ")
    session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
