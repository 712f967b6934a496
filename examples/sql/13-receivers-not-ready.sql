-- Which receivers have no buffer (RNR)?
select src as receiver, sum(rnr_naks) as rnr_naks
from flows_once group by src having sum(rnr_naks) > 0 order by rnr_naks desc, receiver;
