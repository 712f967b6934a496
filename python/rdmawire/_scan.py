"""Packets as a lazy table of Polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Sequence, Union

from ._analyze import Source
from ._frames import columns, packets, row_columns

if TYPE_CHECKING:
    import polars


def scan_packets(source: Union[Source, Sequence[Source]], **options: Any) -> "polars.LazyFrame":
    """The packets of a capture, or of several, as a `LazyFrame` of Polars, 1.21 or newer: nothing is read before `collect`.

    It has all columns, `columns()` and `row_columns()`, and makes those that a query needs: the analysis of flows runs only if one of its
    columns is among them. `head` and `limit` end the reading. Rows are filtered batch by batch, so that memory is bounded where the query's is;
    `filter` drops frames before they become rows, and is faster. Options are those of `packets`, but for `fields`. The source is read by each
    `collect`: a path, bytes, or several, but no file object.

    >>> import polars, rdmawire
    >>> scan = rdmawire.scan_packets(CAPTURE).filter(polars.col("class") == "retransmission")
    >>> scan.select(polars.len(), polars.col("payload_bytes").sum()).collect().rows()
    [(85, 87040)]
    """
    import polars
    import pyarrow
    from polars.io.plugins import register_io_source

    if "fields" in options:
        raise TypeError("scan_packets has no fields: those that a query needs are read")
    if hasattr(source, "read"):
        raise TypeError("scan_packets reads its source once for each collect: give a path or bytes, not a file object")

    def read(
        with_columns: Optional[List[str]],
        predicate: Optional["polars.Expr"],
        n_rows: Optional[int],
        batch_size: Optional[int],
    ) -> Iterator["polars.DataFrame"]:
        fields = every if with_columns is None else with_columns
        asked = options if batch_size is None else {**options, "batch_rows": batch_size}
        left = n_rows
        # Rows count without any column, too.
        for batch in pyarrow.RecordBatchReader.from_stream(packets(source, fields=fields or every[:1], **asked)):
            frame: polars.DataFrame = polars.DataFrame(batch)
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            frame = frame.select(fields)
            yield frame if predicate is None else frame.filter(predicate)
            if left == 0:
                return

    every = [column.name for column in [*columns(), *row_columns()]]
    rows: Any = packets(source, fields=every, **options)
    empty = pyarrow.schema(rows).empty_table()
    return register_io_source(read, schema=polars.DataFrame(empty).schema)
