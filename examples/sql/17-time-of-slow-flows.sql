-- What did the time of slow flows go to?
select cause, count(*) as flows, sum(ns) as ns
from slow semi join flows_once using (capture_id, uid) group by cause order by ns desc, cause;
