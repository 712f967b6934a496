create or replace view captures as select * from read_json('captures.ndjson', sample_size = -1);
create or replace view flows as select * from read_json('flows.ndjson', sample_size = -1);
create or replace view connections as select * from read_json('connections.ndjson', sample_size = -1);
create or replace view episodes as select * from read_json('episodes.ndjson', sample_size = -1);
create or replace view losses as select * from read_json('losses.ndjson', sample_size = -1);
create or replace view findings as select * from read_json('findings.ndjson', sample_size = -1);
