-- Do single paths have the trouble? A UDP source port stands for a path. Flows with several ports are of none.
select udp_src_ports[1] as port, sum(packets) as packets, sum(requests_retransmits) as resent, sum(requests_out_of_order) as late
from flows_once where len(udp_src_ports) = 1 group by port order by resent desc, port;
