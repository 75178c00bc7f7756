-- The memory of a schema of generation 4 (here `neosian`) copied into ours. A block that
-- begins with read_ is what the old tables hold, as rows of ours; it stands in other blocks
-- where its name is in braces. `fault` says why a row cannot land, `missed` that an erasure
-- left its content, which is blank in the copy. $1 are the scopes, $2 to $4 the paths that
-- break the grammar and why.

-- name: read_state
SELECT version FROM neosian.neosian_schema;

-- name: count_rows
SELECT
    (SELECT count(*) FROM neosian.memories)
    + (SELECT count(*) FROM neosian.memory_versions)
    + (SELECT count(*) FROM neosian.memory_redactions)
    + (SELECT count(*) FROM neosian.turns)
    + (SELECT count(*) FROM neosian.projections)
    + (SELECT count(*) FROM neosian.turn_redactions) AS total;

-- name: list_scopes
-- Each part stops at its limit; null begins at the start.
SELECT scope AS unit FROM (
    (
        SELECT DISTINCT scope FROM neosian.memories
        WHERE $1::text IS NULL OR scope > $1 ORDER BY scope LIMIT $2
    )
    UNION
    (
        SELECT DISTINCT scope FROM neosian.memory_versions
        WHERE $1::text IS NULL OR scope > $1 ORDER BY scope LIMIT $2
    )
    UNION
    (
        SELECT DISTINCT scope FROM neosian.memory_redactions
        WHERE $1::text IS NULL OR scope > $1 ORDER BY scope LIMIT $2
    )
) AS found
ORDER BY unit
LIMIT $2;

-- name: measure_scopes
SELECT scope AS unit, count(*) AS held
FROM (
    SELECT scope FROM neosian.memories WHERE scope = ANY($1::text [])
    UNION ALL
    SELECT scope FROM neosian.memory_versions WHERE scope = ANY($1::text [])
    UNION ALL
    SELECT scope FROM neosian.memory_redactions WHERE scope = ANY($1::text [])
) AS rows_of
GROUP BY scope
ORDER BY scope;

-- name: list_taken_scopes
SELECT scope AS unit FROM commonhold.documents WHERE scope = ANY($1::text [])
UNION
SELECT scope AS unit FROM commonhold.document_redactions WHERE scope = ANY($1::text [])
ORDER BY unit;

-- name: list_paths
SELECT scope, path FROM neosian.memories WHERE scope = ANY($1::text [])
UNION
SELECT scope, path FROM neosian.memory_versions WHERE scope = ANY($1::text [])
UNION
SELECT scope, path FROM neosian.memory_redactions
WHERE scope = ANY($1::text []) AND path IS NOT NULL
ORDER BY scope, path;

-- name: read_erased
-- Through which version of a path all content was erased: that of a live document that is
-- redacted, or whose row is, and that of a redacted document's deletion.
SELECT scope, path, max(version) AS through
FROM (
    SELECT m.scope, m.path, m.version
    FROM neosian.memories AS m
    LEFT JOIN neosian.memory_versions AS v
        ON v.scope = m.scope AND v.path = m.path AND v.version = m.version
    WHERE m.scope = ANY($1::text []) AND (m.redacted OR v.redacted)
    UNION ALL
    SELECT scope, path, version FROM neosian.memory_versions
    WHERE scope = ANY($1::text []) AND redacted AND action = 'deleted'
) AS acts
GROUP BY scope, path

-- name: read_versions
SELECT
    v.scope COLLATE "C" AS scope,
    v.path COLLATE "C" AS path,
    v.version::bigint AS version,
    v.action,
    CASE WHEN v.redacted OR v.version <= e.through THEN '' ELSE v.content END AS content,
    v.actor,
    v.created_at,
    v.redacted OR coalesce(v.version <= e.through, false) AS redacted,
    v.neosian_format AS format,
    CASE WHEN v.redacted THEN v.content <> '' ELSE coalesce(v.version <= e.through, false) END
        AS missed,
    CASE
        WHEN o.path IS NOT NULL THEN o.reason
        WHEN v.version < 1 THEN 'its version is below 1'
        WHEN v.created_at < '0001-01-01 00:00+00' OR v.created_at >= '10000-01-01 00:00+00'
            THEN 'its time is out of range'
    END AS fault
FROM neosian.memory_versions AS v
LEFT JOIN ({read_erased}) AS e ON e.scope = v.scope AND e.path = v.path
LEFT JOIN unnest($2::text [], $3::text [], $4::text []) AS o (scope, path, reason)
    ON o.scope = v.scope AND o.path = v.path
WHERE v.scope = ANY($1::text [])

-- name: read_live
SELECT
    m.scope COLLATE "C" AS scope,
    m.path COLLATE "C" AS path,
    CASE WHEN e.through IS NOT NULL AND m.version <= e.through THEN '' ELSE m.content END
        AS content,
    m.version,
    m.created_at,
    m.updated_at,
    m.actor,
    coalesce(m.version <= e.through, false) AS redacted,
    m.neosian_format AS format,
    m.extra::text AS extra,
    m.content <> '' AND coalesce(m.version <= e.through, false) AS missed,
    CASE
        WHEN o.path IS NOT NULL THEN o.reason
        WHEN m.version < 1 THEN 'its version is below 1'
        WHEN
            least(m.created_at, m.updated_at) < '0001-01-01 00:00+00'
            OR greatest(m.created_at, m.updated_at) >= '10000-01-01 00:00+00'
            THEN 'its time is out of range'
        WHEN jsonb_typeof(m.extra) <> 'object' THEN 'its extra is not an object'
        WHEN
            m.extra ?| ARRAY[
                'neosian_format', 'version', 'created_at', 'updated_at', 'actor', 'redacted'
            ]
            THEN 'its extra holds a key that is not its own'
        WHEN jsonb_path_exists(m.extra, 'strict $.**{201 to last}')
            THEN 'its extra is nested deeper than 200 levels'
        WHEN
            (SELECT count(*) FROM jsonb_path_query(m.extra, 'strict $.**{1 to last}')) > 100000
            THEN 'its extra holds more than 100000 values'
    END AS fault
FROM neosian.memories AS m
LEFT JOIN ({read_erased}) AS e ON e.scope = m.scope AND e.path = m.path
LEFT JOIN unnest($2::text [], $3::text [], $4::text []) AS o (scope, path, reason)
    ON o.scope = m.scope AND o.path = m.path
WHERE m.scope = ANY($1::text [])

-- name: read_heads
-- One row a path that keeps anything; its numbers go on from the highest there was.
SELECT
    coalesce(l.scope, g.scope) AS scope,
    coalesce(l.path, g.path) AS path,
    coalesce(l.content, '') AS content,
    coalesce(l.version, g.highest)::bigint AS version,
    greatest(l.version, g.highest)::bigint AS highest_version,
    l.scope IS NOT NULL AS is_live,
    CASE WHEN l.scope IS NULL THEN 'deleted' ELSE 'modified' END AS action,
    coalesce(l.created_at, g.newest_at) AS created_at,
    coalesce(l.updated_at, g.newest_at) AS updated_at,
    greatest(l.created_at, l.updated_at, g.newest_at) AS newest_at,
    l.actor,
    coalesce(l.redacted, false) AS redacted,
    coalesce(l.format, 1) AS format,
    coalesce(l.extra, '{}') AS extra
FROM (
    SELECT
        scope, path, content, version, created_at, updated_at, actor, redacted, format, extra
    FROM ({read_live}) AS live
    WHERE fault IS NULL
) AS l
FULL JOIN (
    SELECT
        scope, path, max(version) AS highest,
        max(created_at) FILTER (WHERE fault IS NULL) AS newest_at
    FROM ({read_versions}) AS versions
    GROUP BY scope, path
) AS g ON g.scope = l.scope AND g.path = l.path
WHERE l.scope IS NOT NULL OR g.newest_at IS NOT NULL

-- name: read_redactions
SELECT
    r.scope COLLATE "C" AS scope,
    r.path COLLATE "C" AS path,
    r.actor,
    r.created_at,
    r.count::bigint AS count,
    r.id,
    CASE
        WHEN o.path IS NOT NULL THEN o.reason
        WHEN r.count < 0 THEN 'its count is below 0'
        WHEN r.created_at < '0001-01-01 00:00+00' OR r.created_at >= '10000-01-01 00:00+00'
            THEN 'its time is out of range'
    END AS fault
FROM neosian.memory_redactions AS r
LEFT JOIN unnest($2::text [], $3::text [], $4::text []) AS o (scope, path, reason)
    ON o.scope = r.scope AND o.path = r.path
WHERE r.scope = ANY($1::text [])

-- name: copy_heads
INSERT INTO commonhold.documents (
    scope, path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at, actor, redacted, format, extra
)
SELECT
    scope, path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at, actor, redacted, format, extra::json
FROM ({read_heads}) AS heads;

-- name: copy_versions
INSERT INTO commonhold.document_versions (
    scope, path, version, action, content, actor, created_at, redacted, format
)
SELECT scope, path, version, action, content, actor, created_at, redacted, format
FROM ({read_versions}) AS versions
WHERE fault IS NULL;

-- name: copy_redactions
INSERT INTO commonhold.document_redactions (scope, path, actor, created_at, count)
SELECT scope, path, actor, created_at, count
FROM ({read_redactions}) AS acts
WHERE fault IS NULL
ORDER BY id;

-- name: list_differing_heads
SELECT DISTINCT coalesce(r.scope, t.scope) AS unit
FROM ({read_heads}) AS r
FULL JOIN (
    SELECT
        scope, path, content, version, highest_version, is_live, action,
        created_at, updated_at, newest_at, actor, redacted, format, extra::text AS extra
    FROM commonhold.documents
    WHERE scope = ANY($1::text [])
) AS t ON t.scope = r.scope AND t.path = r.path
WHERE
    (
        r.path, r.content, r.version, r.highest_version, r.is_live, r.action,
        r.created_at, r.updated_at, r.newest_at, r.actor, r.redacted, r.format, r.extra
    ) IS DISTINCT FROM (
        t.path, t.content, t.version, t.highest_version, t.is_live, t.action,
        t.created_at, t.updated_at, t.newest_at, t.actor, t.redacted, t.format, t.extra
    )
ORDER BY unit;

-- name: list_differing_versions
SELECT DISTINCT coalesce(r.scope, t.scope) AS unit
FROM (SELECT * FROM ({read_versions}) AS versions WHERE fault IS NULL) AS r
FULL JOIN (
    SELECT scope, path, version, action, content, actor, created_at, redacted, format
    FROM commonhold.document_versions
    WHERE scope = ANY($1::text [])
) AS t ON t.scope = r.scope AND t.path = r.path AND t.version = r.version
WHERE
    (r.version, r.action, r.content, r.actor, r.created_at, r.redacted, r.format)
    IS DISTINCT FROM
    (t.version, t.action, t.content, t.actor, t.created_at, t.redacted, t.format)
ORDER BY unit;

-- name: list_differing_redactions
-- Their numbers are drawn anew; their order is what stays.
SELECT DISTINCT coalesce(r.scope, t.scope) AS unit
FROM (
    SELECT
        scope, path, actor, created_at, count,
        row_number() OVER (PARTITION BY scope ORDER BY id) AS position
    FROM ({read_redactions}) AS acts
    WHERE fault IS NULL
) AS r
FULL JOIN (
    SELECT
        scope, path, actor, created_at, count,
        row_number() OVER (PARTITION BY scope ORDER BY id) AS position
    FROM commonhold.document_redactions
    WHERE scope = ANY($1::text [])
) AS t ON t.scope = r.scope AND t.position = r.position
WHERE
    (r.position, r.path, r.actor, r.created_at, r.count)
    IS DISTINCT FROM (t.position, t.path, t.actor, t.created_at, t.count)
ORDER BY unit;

-- name: list_odd_scope_rows
-- What the copy leaves out, blanks, or keeps for a release that reads its format.
SELECT unit, name, fault, missed, format
FROM (
    SELECT
        scope AS unit, 'document ' || path AS name, path, 0::bigint AS version,
        fault, missed, format
    FROM ({read_live}) AS live
    UNION ALL
    SELECT
        scope AS unit, 'version ' || version || ' of ' || path AS name, path, version,
        fault, missed, format
    FROM ({read_versions}) AS versions
    UNION ALL
    SELECT
        scope AS unit, 'erasure ' || id || coalesce(' of ' || path, '') AS name, path,
        id AS version, fault, false AS missed, 1 AS format
    FROM ({read_redactions}) AS acts
) AS found
WHERE fault IS NOT NULL OR missed OR format <> 1
ORDER BY unit, path, version, name;
