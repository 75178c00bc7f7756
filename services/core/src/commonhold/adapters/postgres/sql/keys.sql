-- Answers remembered under idempotency keys, and the version row of the schema.

-- name: insert_key
-- Waits for a call that holds the key. No row comes back when the key is there already.
INSERT INTO commonhold.idempotency (
    client, key, digest, created_at, scope, path, conversation_id
)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (client, key) DO NOTHING
RETURNING client;

-- name: select_key
SELECT digest, answer, created_at
FROM commonhold.idempotency
WHERE client = $1 AND key = $2;

-- name: delete_key
DELETE FROM commonhold.idempotency
WHERE client = $1 AND key = $2 AND created_at < $3;

-- name: store_answer
UPDATE commonhold.idempotency SET answer = $3, turn = $4
WHERE client = $1 AND key = $2;

-- The statements below lock their rows in key order: two erasures in one scope share the
-- keys of whole-scope calls.

-- name: forget_document_digests
-- The digest of a whole-scope restore covers every path of the scope.
WITH held AS MATERIALIZED (
    SELECT client, key FROM commonhold.idempotency
    WHERE scope = $1 AND (path = $2 OR path IS NULL) AND digest IS NOT NULL
    ORDER BY client, key
    FOR UPDATE
)
UPDATE commonhold.idempotency AS i SET digest = NULL
FROM held
WHERE i.client = held.client AND i.key = held.key;

-- name: forget_scope_digests
WITH held AS MATERIALIZED (
    SELECT client, key FROM commonhold.idempotency
    WHERE scope = $1 AND digest IS NOT NULL
    ORDER BY client, key
    FOR UPDATE
)
UPDATE commonhold.idempotency AS i SET digest = NULL
FROM held
WHERE i.client = held.client AND i.key = held.key;

-- name: forget_turn_digests
-- A projection's or a restore's digest covers any turn of the conversation.
WITH held AS MATERIALIZED (
    SELECT client, key FROM commonhold.idempotency
    WHERE
        conversation_id = $1 AND (turn = ANY($2::bigint []) OR turn IS NULL)
        AND digest IS NOT NULL
    ORDER BY client, key
    FOR UPDATE
)
UPDATE commonhold.idempotency AS i SET digest = NULL
FROM held
WHERE i.client = held.client AND i.key = held.key;

-- name: sweep_keys
WITH expired AS (
    SELECT client, key
    FROM commonhold.idempotency
    WHERE created_at < $1
    ORDER BY created_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
swept AS (
    DELETE FROM commonhold.idempotency AS i
    USING expired AS e
    WHERE i.client = e.client AND i.key = e.key
    RETURNING i.key
)
SELECT count(*) FROM swept;

-- name: find_schema_state
SELECT to_regclass('commonhold.schema_state') IS NOT NULL;

-- name: select_schema_state
SELECT version, compatible_from
FROM commonhold.schema_state;

-- name: select_encoding
SELECT current_setting('server_encoding');

-- name: list_missing_timeouts
SELECT name
FROM unnest($1::text []) AS wanted (name)
WHERE current_setting(name) = '0'
ORDER BY name;
