-- What stands out, over all captures?
select severity, id, count(*) as findings from findings group by severity, id order by severity, id;
