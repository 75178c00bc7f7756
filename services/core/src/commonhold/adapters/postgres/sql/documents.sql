-- Documents, their ledger and their erasure trail. Tables are named in the default schema;
-- the loader puts them into the configured one.
--
-- A mutation of one path takes the scope's advisory lock in shared mode first (`gate`),
-- then the lock of the path's head row, and works only with what the locked row holds.
-- Every mutating CTE reads `gate`, since Postgres runs only what is read.

-- name: select_document
SELECT content, version, created_at, updated_at, actor, redacted, extra, format
FROM commonhold.documents
WHERE scope = $1 AND path = $2 AND is_live;

-- name: write_document
-- Blind write: the upsert waits for the row's lock and then builds on what it finds. No
-- row comes back when the live document has a format of its own.
WITH gate AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))
),
head AS (
    INSERT INTO commonhold.documents AS d (
        scope, path, content, version, highest_version, is_live, action,
        created_at, updated_at, newest_at, actor
    )
    SELECT $1, $2, $3, 1, 1, true, 'created', $5, $5, $5, $4 FROM gate
    ON CONFLICT (scope, path) DO UPDATE SET
        content = excluded.content,
        version = d.highest_version + 1,
        highest_version = d.highest_version + 1,
        is_live = true,
        action = CASE WHEN d.is_live THEN 'modified' ELSE 'created' END,
        created_at = CASE
            WHEN d.is_live THEN d.created_at ELSE greatest(d.newest_at, excluded.newest_at)
        END,
        updated_at = greatest(d.newest_at, excluded.newest_at),
        newest_at = greatest(d.newest_at, excluded.newest_at),
        actor = excluded.actor,
        redacted = false,
        format = 1,
        extra = CASE WHEN d.is_live THEN d.extra ELSE '{}' END
    WHERE d.format = 1 OR NOT d.is_live
    RETURNING version, action, created_at, updated_at, extra
),
ledger AS (
    INSERT INTO commonhold.document_versions (
        scope, path, version, action, content, actor, created_at
    )
    SELECT $1, $2, version, action, $3, $4, updated_at FROM head
)
SELECT version, created_at, updated_at, extra FROM head;

-- name: create_document
-- As write_document where nothing is live; whether something is, the locked row decides. No
-- row comes back when it is.
WITH gate AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))
),
head AS (
    INSERT INTO commonhold.documents AS d (
        scope, path, content, version, highest_version, is_live, action,
        created_at, updated_at, newest_at, actor
    )
    SELECT $1, $2, $3, 1, 1, true, 'created', $5, $5, $5, $4 FROM gate
    ON CONFLICT (scope, path) DO UPDATE SET
        content = excluded.content,
        version = d.highest_version + 1,
        highest_version = d.highest_version + 1,
        is_live = true,
        action = 'created',
        created_at = greatest(d.newest_at, excluded.newest_at),
        updated_at = greatest(d.newest_at, excluded.newest_at),
        newest_at = greatest(d.newest_at, excluded.newest_at),
        actor = excluded.actor,
        redacted = false,
        format = 1,
        extra = '{}'
    WHERE NOT d.is_live
    RETURNING version, created_at, updated_at, extra
),
ledger AS (
    INSERT INTO commonhold.document_versions (
        scope, path, version, action, content, actor, created_at
    )
    SELECT $1, $2, version, 'created', $3, $4, updated_at FROM head
)
SELECT version, created_at, updated_at, extra FROM head;

-- name: write_document_at_version
-- Compare-and-set. No row: nothing is live. A row without `version`: the locked head has
-- another version, or a format of its own.
WITH gate AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))
),
held AS MATERIALIZED (
    SELECT d.version, d.highest_version, d.created_at, d.newest_at, d.extra, d.format
    FROM commonhold.documents AS d, gate
    WHERE d.scope = $1 AND d.path = $2 AND d.is_live
    FOR UPDATE OF d
),
head AS (
    UPDATE commonhold.documents AS d SET
        content = $3,
        version = held.highest_version + 1,
        highest_version = held.highest_version + 1,
        action = 'modified',
        updated_at = greatest(held.newest_at, $5),
        newest_at = greatest(held.newest_at, $5),
        actor = $4,
        redacted = false
    FROM held
    WHERE d.scope = $1 AND d.path = $2 AND held.format = 1 AND held.version = $6
    RETURNING d.version, d.updated_at
),
ledger AS (
    INSERT INTO commonhold.document_versions (
        scope, path, version, action, content, actor, created_at
    )
    SELECT $1, $2, version, 'modified', $3, $4, updated_at FROM head
)
SELECT
    held.version AS actual_version,
    held.format,
    held.created_at,
    held.extra,
    head.version,
    head.updated_at
FROM held LEFT JOIN head ON true;

-- name: select_head_format
SELECT format
FROM commonhold.documents
WHERE scope = $1 AND path = $2;

-- name: delete_document
-- The ledger's row takes the content of the locked head, not of a read beside it. No row:
-- nothing is live. A row without `version`: the live document has a format of its own.
WITH gate AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))
),
held AS MATERIALIZED (
    SELECT d.content, d.redacted, d.highest_version, d.newest_at, d.format
    FROM commonhold.documents AS d, gate
    WHERE d.scope = $1 AND d.path = $2 AND d.is_live
    FOR UPDATE OF d
),
head AS (
    UPDATE commonhold.documents AS d SET
        content = '',
        version = held.highest_version + 1,
        highest_version = held.highest_version + 1,
        is_live = false,
        action = 'deleted',
        updated_at = greatest(held.newest_at, $4),
        newest_at = greatest(held.newest_at, $4),
        actor = $3,
        redacted = false,
        extra = '{}'
    FROM held
    WHERE d.scope = $1 AND d.path = $2 AND held.format = 1
    RETURNING d.version, d.updated_at
),
ledger AS (
    INSERT INTO commonhold.document_versions (
        scope, path, version, action, content, actor, created_at, redacted
    )
    SELECT $1, $2, head.version, 'deleted', held.content, $3, head.updated_at, held.redacted
    FROM held, head
)
SELECT held.format, head.version FROM held LEFT JOIN head ON true;

-- name: lock_scope_shared
SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0));

-- name: lock_scope
SELECT pg_advisory_xact_lock(hashtextextended($1, 0));

-- name: claim_heads
-- A row that does not exist cannot be locked, so missing heads are made first, in key
-- order; a refusal rolls them back.
INSERT INTO commonhold.documents (
    scope, path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at
)
SELECT $1, claimed.path, '', 0, 0, false, 'deleted', '-infinity', '-infinity', '-infinity'
FROM unnest($2::text []) AS claimed (path)
ORDER BY claimed.path COLLATE "C"
ON CONFLICT (scope, path) DO NOTHING;

-- name: lock_heads
SELECT path, content, version, highest_version, is_live, newest_at, redacted, format, extra
FROM commonhold.documents
WHERE scope = $1 AND path = ANY($2::text [])
ORDER BY path
FOR UPDATE;

-- name: lock_versions
SELECT path, version, is_live, format
FROM commonhold.documents
WHERE scope = $1 AND path = ANY($2::text [])
ORDER BY path
FOR UPDATE;

-- name: bury_head
UPDATE commonhold.documents SET
    content = '',
    version = $3,
    highest_version = $3,
    is_live = false,
    action = 'deleted',
    updated_at = $4,
    newest_at = $4,
    actor = $5,
    redacted = false,
    extra = '{}'
WHERE scope = $1 AND path = $2;

-- name: revive_head
UPDATE commonhold.documents SET
    content = $6,
    version = $3,
    highest_version = $3,
    is_live = true,
    action = 'created',
    created_at = $4,
    updated_at = $4,
    newest_at = $4,
    actor = $5,
    redacted = $7,
    extra = $8,
    format = 1
WHERE scope = $1 AND path = $2;

-- name: insert_version
INSERT INTO commonhold.document_versions (
    scope, path, version, action, content, actor, created_at, redacted
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: select_version
SELECT path, version, action, content, actor, created_at, redacted, format
FROM commonhold.document_versions
WHERE scope = $1 AND path = $2 AND version = $3;

-- name: list_documents
SELECT path, version, created_at, updated_at, redacted, format
FROM commonhold.documents
WHERE scope = $1 AND is_live AND path > $2 AND path >= $3 AND path < $4
ORDER BY path
LIMIT $5;

-- name: digest_documents
-- The white space to strip is a parameter, since no class of Postgres is Python's; only a
-- content that begins with some of it is looked through.
SELECT
    path,
    version,
    created_at,
    updated_at,
    redacted,
    format,
    CASE
        WHEN content = '' THEN true
        WHEN strpos($6, left(content, 1)) = 0 THEN false
        ELSE ltrim(content, $6) = ''
    END AS is_blank,
    sha256(convert_to(content, 'UTF8')) AS digest
FROM commonhold.documents
WHERE scope = $1 AND is_live AND path > $2 AND path >= $3 AND path < $4
ORDER BY path
LIMIT $5;

-- name: list_aged_documents
-- An erasure leaves updated_at as it is, and of a deleted path no mark on the head. A limited
-- subquery is looked up for each row; an EXISTS would be made of the whole scope for each page.
SELECT d.path, d.version, d.updated_at
FROM commonhold.documents AS d
WHERE
    d.scope = $1 AND d.path > $2 AND d.updated_at < $3
    AND (
        (d.is_live AND NOT d.redacted)
        OR (
            SELECT true FROM commonhold.document_versions AS v
            WHERE v.scope = $1 AND v.path = d.path AND NOT v.redacted
            LIMIT 1
        )
    )
ORDER BY d.path
LIMIT $4;

-- The listings of versions and of erasures leave out what lies behind the row with which they pass a weight
-- in bytes, the last parameter; `asked` counts the rows there would have been.

-- name: list_versions
SELECT path, version, action, content, actor, created_at, redacted, format, asked
FROM (
    SELECT
        path, version, action, content, actor, created_at, redacted, format,
        count(*) OVER () AS asked,
        sum(weight) OVER (ORDER BY version DESC) - weight AS weight_before
    FROM (
        SELECT
            path, version, action, content, actor, created_at, redacted, format,
            octet_length(content) + coalesce(octet_length(actor), 0) AS weight
        FROM commonhold.document_versions
        WHERE scope = $1 AND path = $2 AND version < $3
        ORDER BY version DESC
        LIMIT $4
    ) AS found
) AS weighed
WHERE weight_before < $5
ORDER BY version DESC;

-- name: list_history
SELECT path, version, action, content, actor, created_at, redacted, format, asked
FROM (
    SELECT
        path, version, action, content, actor, created_at, redacted, format,
        count(*) OVER () AS asked,
        sum(weight) OVER (ORDER BY created_at DESC, path, version DESC) - weight AS weight_before
    FROM (
        SELECT
            path, version, action, content, actor, created_at, redacted, format,
            octet_length(content) + coalesce(octet_length(actor), 0) AS weight
        FROM commonhold.document_versions
        WHERE scope = $1 AND created_at >= coalesce($2, '-infinity'::timestamptz)
        ORDER BY created_at DESC, path, version DESC
        LIMIT $3
    ) AS found
) AS weighed
WHERE weight_before < $4
ORDER BY created_at DESC, path, version DESC;

-- name: list_history_after
-- The three ranges behind a position, each read in index order, so that a page costs the
-- same at any depth and among any number of equal stamps.
SELECT path, version, action, content, actor, created_at, redacted, format, asked
FROM (
    SELECT
        path, version, action, content, actor, created_at, redacted, format,
        count(*) OVER () AS asked,
        sum(weight) OVER (ORDER BY created_at DESC, path, version DESC) - weight AS weight_before
    FROM (
        SELECT
            path, version, action, content, actor, created_at, redacted, format,
            octet_length(content) + coalesce(octet_length(actor), 0) AS weight
        FROM (
            (
                SELECT path, version, action, content, actor, created_at, redacted, format
                FROM commonhold.document_versions
                WHERE
                    scope = $1 AND created_at = $5 AND path = $6 AND version < $7
                    AND created_at >= coalesce($2, '-infinity'::timestamptz)
                ORDER BY version DESC
                LIMIT $3
            )
            UNION ALL
            (
                SELECT path, version, action, content, actor, created_at, redacted, format
                FROM commonhold.document_versions
                WHERE
                    scope = $1 AND created_at = $5 AND path > $6
                    AND created_at >= coalesce($2, '-infinity'::timestamptz)
                ORDER BY path, version DESC
                LIMIT $3
            )
            UNION ALL
            (
                SELECT path, version, action, content, actor, created_at, redacted, format
                FROM commonhold.document_versions
                WHERE
                    scope = $1 AND created_at < $5
                    AND created_at >= coalesce($2, '-infinity'::timestamptz)
                ORDER BY created_at DESC, path, version DESC
                LIMIT $3
            )
        ) AS behind
        ORDER BY created_at DESC, path, version DESC
        LIMIT $3
    ) AS found
) AS weighed
WHERE weight_before < $4
ORDER BY created_at DESC, path, version DESC;

-- name: list_document_redactions
SELECT id, path, actor, created_at, count, format, asked
FROM (
    SELECT
        id, path, actor, created_at, count, format,
        count(*) OVER () AS asked,
        sum(weight) OVER (ORDER BY created_at DESC, id DESC) - weight AS weight_before
    FROM (
        SELECT
            id, path, actor, created_at, count, format,
            coalesce(octet_length(actor), 0) AS weight
        FROM commonhold.document_redactions
        WHERE
            scope = $1 AND created_at >= coalesce($2, '-infinity'::timestamptz)
            AND (created_at, id) < (coalesce($4, 'infinity'::timestamptz), $5)
        ORDER BY created_at DESC, id DESC
        LIMIT $3
    ) AS found
) AS weighed
WHERE weight_before < $6
ORDER BY created_at DESC, id DESC;

-- name: blank_head
UPDATE commonhold.documents
SET content = '', redacted = is_live, newest_at = $3
WHERE scope = $1 AND path = $2;

-- name: blank_versions
UPDATE commonhold.document_versions
SET content = '', redacted = true
WHERE scope = $1 AND path = $2 AND NOT (redacted AND content = '');

-- name: blank_scope_heads
UPDATE commonhold.documents
SET content = '', redacted = is_live, newest_at = greatest(newest_at, $2)
WHERE scope = $1;

-- name: blank_scope_versions
UPDATE commonhold.document_versions
SET content = '', redacted = true
WHERE scope = $1 AND NOT (redacted AND content = '');

-- name: select_scope_extent
SELECT count(*) AS paths, max(newest_at) AS newest_at
FROM commonhold.documents
WHERE scope = $1;

-- name: insert_document_redaction
INSERT INTO commonhold.document_redactions (scope, path, actor, created_at, count)
VALUES ($1, $2, $3, $4, $5);

-- name: list_scopes
SELECT scope FROM commonhold.documents
UNION
SELECT scope FROM commonhold.document_redactions
ORDER BY scope;

-- name: is_scope_occupied
SELECT
    EXISTS (SELECT 1 FROM commonhold.documents WHERE scope = $1)
    OR EXISTS (SELECT 1 FROM commonhold.document_redactions WHERE scope = $1);

-- name: archive_documents
SELECT path, content, version, created_at, updated_at, actor, redacted, extra, format
FROM commonhold.documents
WHERE scope = $1 AND is_live
ORDER BY path;

-- name: archive_versions
SELECT path, version, action, content, actor, created_at, redacted, format
FROM commonhold.document_versions
WHERE scope = $1
ORDER BY path, version;

-- name: archive_document_redactions
SELECT path, actor, created_at, count, format
FROM commonhold.document_redactions
WHERE scope = $1
ORDER BY created_at, id;

-- name: restore_heads
INSERT INTO commonhold.documents (
    scope, path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at, actor, redacted, extra
)
SELECT
    $1, h.path, h.content, h.version, h.highest_version, h.is_live, h.action,
    h.created_at, h.updated_at, h.newest_at, h.actor, h.redacted, h.extra::json
FROM unnest(
    $2::text [], $3::text [], $4::bigint [], $5::bigint [], $6::boolean [], $7::text [],
    $8::timestamptz [], $9::timestamptz [], $10::timestamptz [], $11::text [],
    $12::boolean [], $13::text []
) AS h (
    path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at, actor, redacted, extra
);

-- name: restore_versions
INSERT INTO commonhold.document_versions (
    scope, path, version, action, content, actor, created_at, redacted
)
SELECT $1, v.path, v.version, v.action, v.content, v.actor, v.created_at, v.redacted
FROM unnest(
    $2::text [], $3::bigint [], $4::text [], $5::text [], $6::text [],
    $7::timestamptz [], $8::boolean []
) AS v (path, version, action, content, actor, created_at, redacted);

-- name: restore_document_redactions
INSERT INTO commonhold.document_redactions (scope, path, actor, created_at, count)
SELECT $1, r.path, r.actor, r.created_at, r.count
FROM unnest($2::text [], $3::text [], $4::timestamptz [], $5::bigint [])
WITH ORDINALITY AS r (path, actor, created_at, count, position)
ORDER BY r.position;
