-- Do single paths have the trouble? A UDP source port stands for a path.
select port, sum(packets) as packets, sum(requests_retransmits) as resent, sum(requests_out_of_order) as late
from (select unnest(udp_src_ports) as port, * from flows) group by port order by resent desc, port;
