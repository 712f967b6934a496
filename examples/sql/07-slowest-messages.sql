-- Which flows complete their messages slowest?
select src, dst, dest_qp, latency_message_completion_p50_ns as p50_ns, latency_message_completion_p99_ns as p99_ns
from flows_once where p99_ns is not null order by p99_ns desc, src, dst, dest_qp limit 20;
