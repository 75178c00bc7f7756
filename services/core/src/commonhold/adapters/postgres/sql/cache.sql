-- Expiring state. Lifetimes are of the database's clock, read after a row's lock was had;
-- the instants of hits are the callers'.

-- name: select_value
SELECT value
FROM commonhold.cache_values
WHERE digest = $1 AND (expires_at IS NULL OR expires_at > clock_timestamp());

-- name: set_value
INSERT INTO commonhold.cache_values AS v (digest, key, value, expires_at)
VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (digest) DO UPDATE
SET value = excluded.value, expires_at = excluded.expires_at;

-- name: increment_value
-- No row comes back for a live value that is not a counter. One look at the clock decides
-- on value and lifetime together.
INSERT INTO commonhold.cache_values AS v (digest, key, value, expires_at)
VALUES ($1, $2, '1', clock_timestamp() + make_interval(secs => $3))
ON CONFLICT (digest) DO UPDATE
SET (value, expires_at) = (
    SELECT
        CASE WHEN seen.is_over THEN '1' ELSE (v.value::bigint + 1)::text END,
        CASE
            WHEN seen.is_over THEN clock_timestamp() + make_interval(secs => $3)
            ELSE v.expires_at
        END
    FROM (SELECT coalesce(v.expires_at <= clock_timestamp(), false) AS is_over) AS seen
)
WHERE v.expires_at <= clock_timestamp() OR v.value ~ '^-?[0-9]{1,18}$'
RETURNING value::bigint;

-- name: delete_key
WITH removed AS (DELETE FROM commonhold.cache_values WHERE digest = $1)
DELETE FROM commonhold.cache_series
WHERE digest = $1;

-- name: record_hit
INSERT INTO commonhold.cache_series AS s (digest, key, hits, expires_at)
VALUES ($1, $2, ARRAY[$3::double precision], clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (digest) DO UPDATE
SET
    hits = CASE
        WHEN s.expires_at <= clock_timestamp() THEN excluded.hits
        ELSE
            array(SELECT hit FROM unnest(s.hits) AS hit WHERE hit >= $3 - $4) || excluded.hits
    END,
    expires_at = clock_timestamp() + make_interval(secs => $4);

-- name: try_record_hit
-- A row comes back when the hit was recorded.
INSERT INTO commonhold.cache_series AS s (digest, key, hits, expires_at)
VALUES ($1, $2, ARRAY[$3::double precision], clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (digest) DO UPDATE
SET
    hits = CASE
        WHEN s.expires_at <= clock_timestamp() THEN excluded.hits
        ELSE
            array(SELECT hit FROM unnest(s.hits) AS hit WHERE hit >= $3 - $4) || excluded.hits
    END,
    expires_at = clock_timestamp() + make_interval(secs => $4)
WHERE
    s.expires_at <= clock_timestamp()
    OR (SELECT count(*) FROM unnest(s.hits) AS hit WHERE hit >= $5) < $6
RETURNING true;

-- name: count_hits
SELECT count(*)
FROM commonhold.cache_series AS s, unnest(s.hits) AS hit
WHERE s.digest = $1 AND s.expires_at > clock_timestamp() AND hit >= $2;

-- name: select_oldest_hit
SELECT min(hit)
FROM commonhold.cache_series AS s, unnest(s.hits) AS hit
WHERE s.digest = $1 AND s.expires_at > clock_timestamp() AND hit >= $2;

-- name: sweep_values
WITH over AS (
    SELECT digest
    FROM commonhold.cache_values
    WHERE expires_at <= clock_timestamp()
    LIMIT $1
    FOR UPDATE SKIP LOCKED
),
swept AS (
    DELETE FROM commonhold.cache_values AS v
    USING over AS o
    WHERE v.digest = o.digest
    RETURNING v.digest
)
SELECT count(*) FROM swept;

-- name: sweep_series
WITH over AS (
    SELECT digest
    FROM commonhold.cache_series
    WHERE expires_at <= clock_timestamp()
    LIMIT $1
    FOR UPDATE SKIP LOCKED
),
swept AS (
    DELETE FROM commonhold.cache_series AS s
    USING over AS o
    WHERE s.digest = o.digest
    RETURNING s.digest
)
SELECT count(*) FROM swept;
