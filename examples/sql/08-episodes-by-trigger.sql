-- Why were packets retransmitted?
select trigger, count(*) as episodes, sum(retransmitted_packets) as packets from episodes group by trigger order by trigger;
