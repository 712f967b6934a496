-- Which receivers' links were full for a moment? With the link's speed.
select receiver, count(*) as bursts, max(duration_ns) as longest_ns, sum(bytes) as bytes
from microbursts group by receiver order by bursts desc, receiver;
