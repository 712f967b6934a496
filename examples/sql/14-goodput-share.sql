-- Which share of the bytes on the wire is payload sent for the first time, per pair of hosts?
select src, dst, sum(goodput_bytes) / sum(wire_bytes) as share
from flows_once group by src, dst order by share, src, dst;
