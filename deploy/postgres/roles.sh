#!/bin/bash
# Run once, when the primary's data are made: pgvector, and the roles that log in. `irdaemon backend
# migrate` gives irdaemon_reader and irdaemon_writer their rights.
set -eu
secret() { cat "/run/secrets/$1_password"; }
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    -v replicator="$(secret replicator)" -v writer="$(secret writer)" -v reader="$(secret reader)" <<'SQL'
CREATE EXTENSION vector;
CREATE ROLE irdaemon_reader NOLOGIN;
CREATE ROLE irdaemon_writer NOLOGIN;
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'replicator';
CREATE ROLE writer LOGIN PASSWORD :'writer' IN ROLE irdaemon_writer;
CREATE ROLE reader LOGIN PASSWORD :'reader' IN ROLE irdaemon_reader;
SELECT pg_create_physical_replication_slot('standby_1'), pg_create_physical_replication_slot('standby_2');
SQL
echo "host replication replicator all scram-sha-256" >> "$PGDATA/pg_hba.conf"
