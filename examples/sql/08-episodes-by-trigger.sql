-- Why were packets retransmitted?
select trigger, count(*) as episodes, sum(retransmitted_packets) as packets
from episodes semi join flows_once using (capture_id, uid) group by trigger order by trigger;
