-- When was most on the wire? With --interval.
select capture, start_ns, wire_bytes * 8e9 / interval_ns as bps, retransmits, cnps
from intervals order by bps desc, start_ns limit 10;
