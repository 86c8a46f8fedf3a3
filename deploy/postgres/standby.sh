#!/bin/sh
# Copy the primary the first time, then follow it.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    PGPASSWORD="$(cat /run/secrets/replicator_password)"
    export PGPASSWORD
    pg_basebackup --pgdata "$PGDATA" --wal-method stream --checkpoint fast --slot "$STANDBY" \
        --write-recovery-conf \
        --dbname "host=$PRIMARY user=replicator application_name=$STANDBY"
    unset PGPASSWORD # it is in $PGDATA/postgresql.auto.conf now, which only postgres can read
    chmod 0700 "$PGDATA"
fi
exec docker-entrypoint.sh "$@"
