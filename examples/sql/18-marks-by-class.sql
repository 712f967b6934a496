-- Which classes are marked, and which share of their ECN-capable packets? Of each capture.
select capture, dscp, pcp, packets, ce_packets, ce_ratio
from classes where ect_packets > 0 order by ce_ratio desc nulls last, capture, dscp, pcp;
