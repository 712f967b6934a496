-- Which flows are marked by switches, and which share of their packets?
select src, dst, dest_qp, ce_packets, ce_packets / ect_packets as ce_ratio
from flows_once where ce_packets > 0 order by ce_ratio desc, src, dst, dest_qp;
