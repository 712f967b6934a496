-- Which receivers ask for lost packets?
select src as receiver, sum(naks_psn_sequence_error) as naks
from flows_once group by src having sum(naks_psn_sequence_error) > 0 order by naks desc, receiver;
