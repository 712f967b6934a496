-- Which senders paused a link longest? Unknown without the link's speed.
select link, sender, priority, xoff, paused_ns, longest_ns from pauses
order by paused_ns desc nulls last, xoff desc, link, sender, priority limit 20;
