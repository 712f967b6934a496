-- How long did each flow take to recover from losses, in all?
select src, dst, dest_qp, count(*) as episodes, sum(recovered_ns) as recovering_ns
from episodes semi join flows_once using (capture_id, uid) group by all order by recovering_ns desc nulls last, src, dst, dest_qp;
