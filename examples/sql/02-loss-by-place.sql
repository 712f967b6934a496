-- Where are packets lost, seen from the tap? At least, at most.
select place, sum(least) as least, sum(most) as most
from losses semi join flows_once using (capture_id, uid) group by place order by place;
