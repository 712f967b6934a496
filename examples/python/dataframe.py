"""A capture as a DataFrame: packets by queue pair with Polars, and the same question in SQL with DuckDB.

    python examples/python/dataframe.py x.pcap

The packets go to Polars and to DuckDB in batches of Arrow's columns, without copies and with bounded memory.
"""

from __future__ import annotations

import sys

import duckdb
import polars as pl

import rdmawire

FIELDS = ["time_ns", "src", "dst", "dest_qp", "bth_psn", "payload_bytes", "aeth_syndrome", "ecn", "icrc_state"]


def by_queue_pair(frame: pl.DataFrame) -> pl.DataFrame:
    """Packets, payload and marks of each queue pair, and how long it was busy."""
    rdma = frame.filter(pl.col("bth_psn").is_not_null())
    return (
        rdma.group_by("src", "dst", "dest_qp")
        .agg(
            pl.len().alias("packets"),
            pl.col("payload_bytes").sum(),
            (pl.col("aeth_syndrome") // 32 == 3).sum().alias("naks"),
            (pl.col("ecn") == 3).sum().alias("marked"),
            (pl.col("icrc_state") == "bad").sum().alias("bad_icrc"),
            ((pl.col("time_ns").max() - pl.col("time_ns").min()).dt.total_nanoseconds() / 1e9).alias("seconds"),
        )
        .sort("payload_bytes", "dest_qp", "src", "dst", descending=True, nulls_last=True)
    )


SQL = """
    select src, dst, dest_qp, count(*) as packets, sum(payload_bytes)::bigint as payload_bytes
    from packets where bth_psn is not null
    group by all order by payload_bytes desc, dest_qp desc, src desc, dst desc
"""


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        frame = pl.DataFrame(rdmawire.packets(sys.argv[1], fields=FIELDS))
    except rdmawire.Error as error:
        print(f"dataframe: {error}", file=sys.stderr)
        return 2
    table = by_queue_pair(frame)
    print(table)
    # DuckDB finds the variable by its name.
    packets = rdmawire.packets(sys.argv[1])
    answer = duckdb.sql(SQL)
    assert answer is not None and packets is not None
    rows = answer.fetchall()
    assert rows == table.select("src", "dst", "dest_qp", "packets", "payload_bytes").rows()
    print(f"DuckDB: {len(rows)} rows, the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
