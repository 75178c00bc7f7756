-- A scope at a glance: counted and cut where its rows are.

-- name: outline_documents
-- One row a directory, the newest documents, and one whose format is its own if there is one,
-- all as of one moment. $2 and $3 are the ranges of paths to count, which leave out the
-- prefixes in $4: a comparison of every counted row with every prefix would cost more than
-- the count.
WITH counted AS (
    SELECT
        CASE WHEN strpos(d.path, '/') > 0 THEN split_part(d.path, '/', 1) ELSE '' END AS directory,
        count(*) AS documents
    FROM unnest($2::text [], $3::text []) AS r (low, high)
    INNER JOIN commonhold.documents AS d ON d.path >= r.low AND d.path < r.high
    WHERE d.scope = $1 AND d.is_live
    GROUP BY directory
),
shown AS (
    SELECT path, version, created_at, updated_at, redacted, format
    FROM commonhold.documents
    WHERE scope = $1 AND is_live AND NOT path ^@ ANY($4::text [])
    ORDER BY updated_at DESC, path
    LIMIT $5
),
newer AS (
    SELECT path, version, created_at, updated_at, redacted, format
    FROM commonhold.documents
    WHERE scope = $1 AND is_live AND format <> 1
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
