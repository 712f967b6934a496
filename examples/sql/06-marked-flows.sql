-- Which flows are marked by switches, and which share of their packets?
select src, dst, dest_qp, ecn_ce, ecn_ce / (ecn_ce + ecn_ect) as ce_ratio
from flows where ecn_ce > 0 order by ce_ratio desc, src, dst, dest_qp;
