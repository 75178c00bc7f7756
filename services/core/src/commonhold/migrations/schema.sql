-- The schema as all migrations leave it, as one file to read. A test compares it with a
-- migrated database; the numbered files in versions/ are what `commonhold migrate` runs.

CREATE SCHEMA commonhold;

-- Which migrations ran, with the checksum of the file that ran.
CREATE TABLE commonhold.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

-- One row. A release runs when version >= its own and compatible_from <= its own.
CREATE TABLE commonhold.schema_state (
    singleton boolean NOT NULL DEFAULT true,
    version integer NOT NULL,
    compatible_from integer NOT NULL,
    CONSTRAINT schema_state_pkey PRIMARY KEY (singleton),
    CONSTRAINT schema_state_single_row CHECK (singleton)
);

-- The head of a path. It is never removed, so version numbers are never used twice and
-- every writer of one path meets the lock of one row.
CREATE TABLE commonhold.documents (
    scope text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    content text NOT NULL,
    version bigint NOT NULL,
    highest_version bigint NOT NULL,
    is_live boolean NOT NULL,
    action text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    newest_at timestamptz NOT NULL,
    actor text,
    redacted boolean NOT NULL DEFAULT false,
    format integer NOT NULL DEFAULT 1,
    extra json NOT NULL DEFAULT '{}',
    CONSTRAINT documents_pkey PRIMARY KEY (scope, path),
    CONSTRAINT documents_action_known CHECK (action IN ('created', 'modified', 'deleted'))
) WITH (fillfactor = 80);

-- Listings skip the heads of deleted paths without reading them.
CREATE INDEX documents_live ON commonhold.documents (scope, path) WHERE is_live;

-- An outline shows the documents written last.
CREATE INDEX documents_recent
ON commonhold.documents (scope, updated_at DESC, path) WHERE is_live;

-- Nearly always empty: an outline must refuse a scope that holds such a document.
CREATE INDEX documents_newer_format
ON commonhold.documents (scope, path) WHERE is_live AND format <> 1;

CREATE TABLE commonhold.document_versions (
    scope text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    action text NOT NULL,
    content text NOT NULL,
    actor text,
    created_at timestamptz NOT NULL,
    redacted boolean NOT NULL DEFAULT false,
    format integer NOT NULL DEFAULT 1,
    CONSTRAINT document_versions_pkey PRIMARY KEY (scope, path, version),
    CONSTRAINT document_versions_action_known CHECK (action IN ('created', 'modified', 'deleted')),
    CONSTRAINT document_versions_version_positive CHECK (version >= 1)
);

CREATE INDEX document_versions_by_time
ON commonhold.document_versions (scope, created_at DESC, path, version DESC);

CREATE TABLE commonhold.document_redactions (
    id bigint GENERATED ALWAYS AS IDENTITY,
    scope text COLLATE "C" NOT NULL,
    path text COLLATE "C",
    actor text,
    created_at timestamptz NOT NULL,
    count bigint NOT NULL,
    format integer NOT NULL DEFAULT 1,
    CONSTRAINT document_redactions_pkey PRIMARY KEY (id)
);

CREATE INDEX document_redactions_by_time
ON commonhold.document_redactions (scope, created_at DESC, id DESC);

-- The head of a conversation: an append is one update here and one insert into turns.
CREATE TABLE commonhold.conversations (
    conversation_id text COLLATE "C" NOT NULL,
    last_turn bigint NOT NULL,
    newest_at timestamptz NOT NULL,
    CONSTRAINT conversations_pkey PRIMARY KEY (conversation_id)
) WITH (fillfactor = 70);

-- Messages are json, not jsonb: they come back as they were sent, key order included.
-- search_text is folded by the service, so that every store folds alike.
CREATE TABLE commonhold.turns (
    conversation_id text COLLATE "C" NOT NULL,
    turn bigint NOT NULL,
    messages json NOT NULL,
    created_at timestamptz NOT NULL,
    actor text,
    search_text text NOT NULL,
    redacted boolean NOT NULL DEFAULT false,
    format integer NOT NULL DEFAULT 1,
    CONSTRAINT turns_pkey PRIMARY KEY (conversation_id, turn),
    CONSTRAINT turns_turn_positive CHECK (turn >= 1)
);

CREATE INDEX turns_by_time
ON commonhold.turns (created_at DESC, conversation_id DESC, turn DESC) WHERE NOT redacted;

CREATE TABLE commonhold.projections (
    id bigint GENERATED ALWAYS AS IDENTITY,
    conversation_id text COLLATE "C" NOT NULL,
    turn bigint NOT NULL,
    span bigint NOT NULL,
    kind text NOT NULL,
    text text NOT NULL,
    format integer NOT NULL DEFAULT 1,
    CONSTRAINT projections_pkey PRIMARY KEY (id),
    CONSTRAINT projections_kind_known CHECK (kind IN ('log', 'digest', 'epoch'))
);

CREATE INDEX projections_in_order
ON commonhold.projections (conversation_id, turn, span, id);

CREATE TABLE commonhold.turn_redactions (
    id bigint GENERATED ALWAYS AS IDENTITY,
    conversation_id text COLLATE "C" NOT NULL,
    turns bigint [] NOT NULL,
    actor text,
    created_at timestamptz NOT NULL,
    format integer NOT NULL DEFAULT 1,
    CONSTRAINT turn_redactions_pkey PRIMARY KEY (id)
);

CREATE INDEX turn_redactions_by_time
ON commonhold.turn_redactions (created_at DESC, conversation_id DESC, id DESC);

CREATE INDEX turn_redactions_by_conversation
ON commonhold.turn_redactions (conversation_id, created_at DESC, id DESC);

-- One row a key for 24 hours. The answer holds no content: a replay reads the version or
-- turn it names. A null digest matches any body (a redaction nulls it).
CREATE TABLE commonhold.idempotency (
    client text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    digest bytea,
    answer json,
    created_at timestamptz NOT NULL,
    scope text COLLATE "C",
    path text COLLATE "C",
    conversation_id text COLLATE "C",
    turn bigint,
    CONSTRAINT idempotency_pkey PRIMARY KEY (client, key)
);

CREATE INDEX idempotency_by_time ON commonhold.idempotency (created_at);

CREATE INDEX idempotency_by_document
ON commonhold.idempotency (scope, path) WHERE scope IS NOT NULL;

CREATE INDEX idempotency_by_turn
ON commonhold.idempotency (conversation_id, turn) WHERE conversation_id IS NOT NULL;

-- One row a name that was ever claimed, never removed: its number only rises. A released one
-- expires at -infinity.
CREATE TABLE commonhold.claims (
    name text COLLATE "C" NOT NULL,
    token bigint NOT NULL,
    holder text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT claims_pkey PRIMARY KEY (name)
) WITH (fillfactor = 70);

-- State that expires: values and counters, and series of hits. Unlogged: what a crash loses
-- here is worth a few calls. Keys are found by their SHA-256.
CREATE UNLOGGED TABLE commonhold.cache_values (
    digest bytea NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    expires_at timestamptz,
    CONSTRAINT cache_values_pkey PRIMARY KEY (digest)
) WITH (fillfactor = 70);

CREATE UNLOGGED TABLE commonhold.cache_series (
    digest bytea NOT NULL,
    key text COLLATE "C" NOT NULL,
    hits float8 [] NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT cache_series_pkey PRIMARY KEY (digest)
) WITH (fillfactor = 70);

-- The columns are those that PgQueuer 1.x reads and writes. No trigger tells of changes: the
-- workers look.
CREATE TYPE commonhold.job_status AS ENUM (
    'queued', 'picked', 'successful', 'exception', 'canceled', 'deleted', 'failed'
);

CREATE TABLE commonhold.jobs (
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    priority integer NOT NULL,
    queue_manager_id uuid,
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now(),
    heartbeat timestamptz NOT NULL DEFAULT now(),
    execute_after timestamptz NOT NULL DEFAULT now(),
    status commonhold.job_status NOT NULL,
    entrypoint text NOT NULL,
    dedupe_key text,
    payload bytea,
    headers jsonb,
    attempts integer NOT NULL DEFAULT 0,
    slot bigint,
    CONSTRAINT jobs_pkey PRIMARY KEY (id)
) WITH (fillfactor = 70);

-- A garden is in the queue once; PgQueuer names this predicate when it inserts.
CREATE UNIQUE INDEX jobs_by_dedupe_key ON commonhold.jobs (dedupe_key)
WHERE status IN ('queued', 'picked') AND dedupe_key IS NOT NULL;

CREATE TABLE commonhold.job_log (
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    created timestamptz NOT NULL DEFAULT now(),
    job_id bigint NOT NULL,
    status commonhold.job_status NOT NULL,
    priority integer NOT NULL,
    entrypoint text NOT NULL,
    traceback jsonb,
    aggregated boolean NOT NULL DEFAULT false,
    CONSTRAINT job_log_pkey PRIMARY KEY (id)
);

CREATE INDEX job_log_by_time ON commonhold.job_log (created);

CREATE TABLE commonhold.garden_runs (
    garden text COLLATE "C" NOT NULL,
    finished_at timestamptz NOT NULL,
    succeeded_at timestamptz,
    CONSTRAINT garden_runs_pkey PRIMARY KEY (garden)
) WITH (fillfactor = 70);

-- Samples of these columns would outlive an erasure in the planner's statistics, and no plan
-- needs them.
ALTER TABLE commonhold.documents ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE commonhold.document_versions ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE commonhold.turns ALTER COLUMN messages SET STATISTICS 0;
ALTER TABLE commonhold.projections ALTER COLUMN text SET STATISTICS 0;

-- Made where the extension pg_trgm can be had, now or at a later run of `commonhold
-- migrate`; without it a search reads every turn and answers the same.
-- CREATE INDEX turns_search ON commonhold.turns USING gin (search_text gin_trgm_ops)
-- WHERE NOT redacted;
