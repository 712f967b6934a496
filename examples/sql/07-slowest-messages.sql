-- Which flows complete their messages slowest?
select src, dst, dest_qp, latency_ns_message_completion_p50 as p50_ns, latency_ns_message_completion_p99 as p99_ns
from flows where p99_ns is not null order by p99_ns desc, src, dst, dest_qp limit 20;
