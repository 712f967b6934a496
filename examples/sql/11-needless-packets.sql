-- How many packets were retransmitted although they had arrived?
select trigger, sum(needless_packets) as needless, sum(retransmitted_packets) as resent
from episodes semi join flows_once using (capture_id, uid) group by trigger order by trigger;
