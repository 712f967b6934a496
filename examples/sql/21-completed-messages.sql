-- How many messages did each service complete, and what was the slowest?
select service, sum(messages_completed) as messages, max(latency_message_completion_max_ns) as slowest_ns
from flows_once group by service order by service;
