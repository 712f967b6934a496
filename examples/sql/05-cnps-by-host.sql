-- Which hosts send congestion notifications, and how many?
select src as host, sum(cnps) as cnps from flows_once group by src having sum(cnps) > 0 order by cnps desc, host;
