-- A scope at a glance: counted and cut where its rows are.

-- name: outline_documents
-- One row a directory, the newest documents, and one whose format is its own if there is one,
-- all as of one moment.
WITH live AS MATERIALIZED (
    SELECT
        path, version, created_at, updated_at, redacted, format,
        path ^@ ANY($2::text []) AS is_out
    FROM commonhold.documents
    WHERE scope = $1 AND is_live
),
counted AS (
    SELECT
        CASE WHEN strpos(path, '/') > 0 THEN split_part(path, '/', 1) ELSE '' END AS directory,
        count(*) AS documents
    FROM live
    WHERE NOT is_out
    GROUP BY directory
),
shown AS (
    SELECT path, version, created_at, updated_at, redacted, format
    FROM live
    WHERE NOT is_out
    ORDER BY updated_at DESC, path
    LIMIT $3
),
newer AS (
    SELECT path, version, created_at, updated_at, redacted, format
    FROM live
    WHERE format <> 1
    ORDER BY path
    LIMIT 1
)
SELECT
    NULL::text AS directory, NULL::bigint AS documents,
    n.path, n.version, n.created_at, n.updated_at, n.redacted, n.format
FROM newer AS n
UNION ALL
SELECT NULL, NULL, s.path, s.version, s.created_at, s.updated_at, s.redacted, s.format FROM shown AS s
UNION ALL
SELECT directory, documents, NULL, NULL, NULL, NULL, NULL, NULL FROM counted;
