-- Which single losses cost most time? The frames to look at.
select src, dst, dest_qp, lost_psn, nak_frame, first_retransmit_frame, recovered_ns
from episodes semi join flows_once using (capture_id, uid)
where recovered_ns is not null order by recovered_ns desc, first_retransmit_frame limit 10;
