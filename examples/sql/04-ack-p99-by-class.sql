-- How long do acknowledgements take at worst, by DSCP? A class has all flows that are in it only.
select dscp, max(ack_rtt_p99_ns) as worst_p99_ns
from classes where dscp is not null and ack_rtt_p99_ns is not null group by dscp order by dscp;
