-- How long do acknowledgements take at worst, by DSCP?
select dscp, max(latency_ack_rtt_p99_ns) as worst_p99_ns
from (select unnest(dscps) as dscp, * from flows) where latency_ack_rtt_p99_ns is not null group by dscp order by dscp;
