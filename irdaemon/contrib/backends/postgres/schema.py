"""The tables of a backend in PostgreSQL, as migrations: ordered scripts, each run once.

All pending migrations run in one transaction. Partitioned tables have a partition for each `space`:
the rows of one corpus as it was sent whole. A corpus that is sent whole again gets a new space,
which replaces the old one by a single update. Texts that PostgreSQL cannot hold as text (with NUL,
say) are stored as msgpack, or as UTF-8 in bytea.
"""

from __future__ import annotations

# A program that knows formats up to N works with a server of format N + 1 if `least` of that format
# is not above N: so migrate servers first, then upgrade programs one at a time.
_CREATE = """
CREATE SCHEMA irdaemon;
-- `vectors` is the schema that pgvector lies in.
CREATE TABLE irdaemon.format (number int NOT NULL, least int NOT NULL, vectors name NOT NULL);
INSERT INTO irdaemon.format VALUES (0, 1, '@SCHEMA@');

CREATE TABLE irdaemon.leases (
    corpus text PRIMARY KEY,
    holder text NOT NULL,
    fence bigint NOT NULL,
    until timestamptz NOT NULL
);
CREATE TABLE irdaemon.ledgers (
    ledger int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity text NOT NULL UNIQUE
);
CREATE TABLE irdaemon.spaces (
    space int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    corpus text NOT NULL,
    dim int NOT NULL,
    made timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE irdaemon.corpora (
    corpus text PRIMARY KEY,
    place int GENERATED ALWAYS AS IDENTITY,
    space int NOT NULL UNIQUE REFERENCES irdaemon.spaces,
    ledger int NOT NULL REFERENCES irdaemon.ledgers,
    generation bigint NOT NULL,
    n_embedded bigint NOT NULL,
    totals bytea NOT NULL,
    changed timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE irdaemon.words (
    ledger int NOT NULL REFERENCES irdaemon.ledgers ON DELETE CASCADE,
    term int NOT NULL,
    initial int NOT NULL,
    length int NOT NULL,
    word bytea NOT NULL,
    PRIMARY KEY (ledger, term)
);
CREATE INDEX ON irdaemon.words (ledger, word);
CREATE INDEX ON irdaemon.words (ledger, initial, length);

-- An artifact: `id_key` and `name_key` are hashes of its id and name, `row` what the index needs,
-- `stored` what is disclosed.
CREATE TABLE irdaemon.artifacts (
    space int NOT NULL, artifact bigint NOT NULL, id_key bigint NOT NULL, name_key bigint NOT NULL,
    row bytea NOT NULL, stored bytea NOT NULL
) PARTITION BY LIST (space);
-- The terms of artifacts' names.
CREATE TABLE irdaemon.naming (
    space int NOT NULL, term int NOT NULL, artifact bigint NOT NULL
) PARTITION BY LIST (space);
-- `record` is the artifact's number times 2^20, plus the surface's.
CREATE TABLE irdaemon.records (
    space int NOT NULL, record bigint NOT NULL, row bytea NOT NULL, stored bytea NOT NULL
) PARTITION BY LIST (space);
-- What filters look at: for each field in turn, from 0 on, the code of its value, 0
-- for none.
CREATE TABLE irdaemon.slots (
    space int NOT NULL, record bigint NOT NULL, codes int[] NOT NULL
) PARTITION BY LIST (space);
CREATE TABLE irdaemon.vectors (
    space int NOT NULL, record bigint NOT NULL, vector @SCHEMA@.vector NOT NULL
) PARTITION BY LIST (space);
-- The records that have no vector yet.
CREATE TABLE irdaemon.waiting (
    space int NOT NULL, record bigint NOT NULL, digest bytea NOT NULL
) PARTITION BY LIST (space);
CREATE TABLE irdaemon.postings (
    space int NOT NULL, term int NOT NULL, record bigint NOT NULL, count real NOT NULL,
    length real NOT NULL
) PARTITION BY LIST (space);
CREATE TABLE irdaemon.frequencies (
    space int NOT NULL, term int NOT NULL, df bigint NOT NULL
) PARTITION BY LIST (space);
-- The fields' places in `codes`, and the highest code that was given to a value of each. Field 0
-- stands for the kinds of surfaces.
CREATE TABLE irdaemon.fields (
    space int NOT NULL, field int NOT NULL, name bytea NOT NULL, last int NOT NULL
) PARTITION BY LIST (space);
-- The distinct values of a field, and how many records have each.
CREATE TABLE irdaemon.field_values (
    space int NOT NULL, field int NOT NULL, code int NOT NULL, digest bytea NOT NULL,
    value bytea NOT NULL, uses bigint NOT NULL
) PARTITION BY LIST (space);

-- The roles that read, and those that write, too.
CREATE TABLE irdaemon.roles (name name PRIMARY KEY, writes boolean NOT NULL);

CREATE FUNCTION irdaemon.partitioned() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY['artifacts', 'naming', 'records', 'slots', 'vectors', 'waiting', 'postings',
                 'frequencies', 'fields', 'field_values']
$$;

-- These three change tables, which only their owner may. They are for those who write.
CREATE FUNCTION irdaemon.create_space(of_corpus text, dim int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE made int; each text; writer name;
BEGIN
    INSERT INTO irdaemon.spaces (corpus, dim) VALUES (of_corpus, dim) RETURNING space INTO made;
    FOREACH each IN ARRAY irdaemon.partitioned() LOOP
        EXECUTE format('CREATE TABLE irdaemon.%I (LIKE irdaemon.%I, CHECK (space = %s))',
                       each || '_' || made, each, made);
        -- COPY is not for tables with row-level security, such as those that these become part of.
        FOR writer IN SELECT name FROM irdaemon.roles WHERE writes LOOP
            EXECUTE format('GRANT INSERT ON irdaemon.%I TO %I', each || '_' || made, writer);
        END LOOP;
    END LOOP;
    -- Codes of values are looked up while rows come.
    EXECUTE format('CREATE INDEX ON irdaemon.%I (field, digest)', 'field_values_' || made);
    EXECUTE format('GRANT SELECT, UPDATE ON irdaemon.%I TO %I', 'field_values_' || made,
                   session_user);
    -- As long as a vector fits into a page it is kept in its row.
    IF dim BETWEEN 1 AND 1900 THEN
        EXECUTE format('ALTER TABLE irdaemon.%I ALTER COLUMN vector SET STORAGE PLAIN',
                       'vectors_' || made);
    END IF;
    RETURN made;
END $$;

CREATE FUNCTION irdaemon.finish_space(made int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE each text; part text; line text;
BEGIN
    FOREACH line IN ARRAY ARRAY[
        'artifacts (artifact)', 'artifacts (id_key)', 'artifacts (name_key)', 'naming (term)',
        'naming (artifact)', 'records (record)', 'slots (record)', 'vectors (record)',
        'waiting (digest)', 'waiting (record)',
        'postings (term, space, record) INCLUDE (count, length)', 'frequencies (term)',
        'field_values (field, code)'] LOOP
        part := split_part(line, ' ', 1) || '_' || made;
        EXECUTE format('CREATE INDEX ON irdaemon.%I %s', part, substr(line, strpos(line, '(')));
    END LOOP;
    FOREACH each IN ARRAY irdaemon.partitioned() LOOP
        part := each || '_' || made;
        EXECUTE format('ANALYZE irdaemon.%I', part);
        EXECUTE format('REVOKE SELECT, UPDATE ON irdaemon.%I FROM %I', part, session_user);
        EXECUTE format('ALTER TABLE irdaemon.%I ATTACH PARTITION irdaemon.%I FOR VALUES IN (%s)',
                       each, part, made);
        EXECUTE format('ALTER TABLE irdaemon.%I DROP CONSTRAINT %I', part, part || '_space_check');
    END LOOP;
END $$;

CREATE FUNCTION irdaemon.index_vectors(of_space int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @SCHEMA@, pg_temp AS $$
DECLARE part text := 'vectors_' || of_space; size int;
BEGIN
    SELECT dim INTO STRICT size FROM irdaemon.spaces WHERE space = of_space;
    -- pgvector's graphs hold no longer vectors; these are searched exactly.
    IF size NOT BETWEEN 1 AND 2000 THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON irdaemon.%I USING hnsw'
                   ' ((vector::vector(%s)) vector_ip_ops) WITH (m = 16, ef_construction = 128)',
                   part || '_hnsw', part, size);
END $$;

CREATE FUNCTION irdaemon.drop_space(old int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE each text;
BEGIN
    IF EXISTS (SELECT FROM irdaemon.corpora WHERE space = old) THEN
        RAISE EXCEPTION 'space % is in use', old;
    END IF;
    FOREACH each IN ARRAY irdaemon.partitioned() LOOP
        EXECUTE format('DROP TABLE IF EXISTS irdaemon.%I', each || '_' || old);
    END LOOP;
    DELETE FROM irdaemon.spaces WHERE space = old;
END $$;
"""

_POLICIES = """
DO $policies$
DECLARE each text; sees text := '(SELECT current_setting(''irdaemon.corpora'', true)) = ''*'' OR ';
BEGIN
    EXECUTE 'CREATE POLICY seen ON irdaemon.corpora FOR SELECT USING (' || sees ||
        'corpus = ANY ((SELECT string_to_array(current_setting(''irdaemon.corpora'', true),'
        ' '',''))::text[]))';
    EXECUTE 'CREATE POLICY seen ON irdaemon.words FOR SELECT USING (' || sees ||
        'ledger = ANY (ARRAY(SELECT ledger FROM irdaemon.corpora)))';
    FOREACH each IN ARRAY irdaemon.partitioned() LOOP
        EXECUTE format('CREATE POLICY seen ON irdaemon.%I FOR SELECT USING (' || sees ||
            'space = ANY (ARRAY(SELECT space FROM irdaemon.corpora)))', each);
    END LOOP;
    FOREACH each IN ARRAY irdaemon.partitioned() || ARRAY['corpora', 'words'] LOOP
        EXECUTE format('ALTER TABLE irdaemon.%I ENABLE ROW LEVEL SECURITY', each);
        EXECUTE format('CREATE POLICY added ON irdaemon.%I FOR INSERT WITH CHECK (true)', each);
        EXECUTE format('CREATE POLICY changed ON irdaemon.%I FOR UPDATE USING (true)', each);
        EXECUTE format('CREATE POLICY removed ON irdaemon.%I FOR DELETE USING (true)', each);
    END LOOP;
END $policies$;
"""

# The privileges of readers and of writers. The policies above limit both to corpora in the scope of
# the transaction. They do not bind the owner or a superuser.
READ = """
GRANT USAGE ON SCHEMA irdaemon TO {role};
GRANT SELECT ON irdaemon.format, irdaemon.corpora, irdaemon.words, irdaemon.artifacts,
    irdaemon.naming, irdaemon.records, irdaemon.slots, irdaemon.vectors, irdaemon.waiting,
    irdaemon.postings, irdaemon.frequencies, irdaemon.fields, irdaemon.field_values TO {role};
"""
WRITE = """
GRANT SELECT ON irdaemon.leases, irdaemon.ledgers, irdaemon.spaces TO {role};
GRANT INSERT, UPDATE, DELETE ON irdaemon.leases, irdaemon.ledgers, irdaemon.corpora,
    irdaemon.words, irdaemon.artifacts, irdaemon.naming, irdaemon.records, irdaemon.slots,
    irdaemon.vectors, irdaemon.waiting, irdaemon.postings, irdaemon.frequencies, irdaemon.fields,
    irdaemon.field_values TO {role};
GRANT EXECUTE ON FUNCTION irdaemon.create_space, irdaemon.finish_space, irdaemon.index_vectors,
    irdaemon.drop_space TO {role};
"""

_FUNCTIONS_FOR_WRITERS = """
REVOKE EXECUTE ON FUNCTION irdaemon.create_space, irdaemon.finish_space, irdaemon.index_vectors,
    irdaemon.drop_space FROM PUBLIC;
"""

MIGRATIONS = (_CREATE + _POLICIES + _FUNCTIONS_FOR_WRITERS,)
# The present format of the tables.
FORMAT = len(MIGRATIONS)
# The lowest format that a program must support to work with the present tables.
LEAST = 1
