-- Which pairs of hosts send most packets again?
select src, dst, sum(requests_retransmits + responses_retransmits) as resent, sum(packets) as packets
from flows_once group by src, dst having resent > 0 order by resent desc, src, dst limit 20;
