-- Claims and their fence. Rows of several names are locked in the order of the names.

-- name: is_claimed
-- Asked first, so that nobody waits for a claim that stands.
SELECT EXISTS (
    SELECT 1 FROM commonhold.claims
    WHERE name = ANY($1::text []) AND expires_at > $2 AND expires_at <= $3
);

-- name: take_claims
-- Waits for the mutations under a lease that ran out. A name without a row in the answer was
-- claimed by another meanwhile. A lease beyond $5 is longer than any: it is free.
INSERT INTO commonhold.claims AS c (name, token, holder, expires_at)
SELECT wanted.name, 1, $2, $4
FROM unnest($1::text []) AS wanted (name)
ORDER BY wanted.name COLLATE "C"
ON CONFLICT (name) DO UPDATE SET
    token = c.token + 1,
    holder = excluded.holder,
    expires_at = excluded.expires_at
WHERE c.expires_at <= $3 OR c.expires_at > $5
RETURNING name, token;

-- name: extend_claims
WITH held AS MATERIALIZED (
    SELECT c.name
    FROM commonhold.claims AS c
    INNER JOIN unnest($1::text [], $2::bigint []) AS claimed (name, token)
        ON c.name = claimed.name AND c.token = claimed.token
    ORDER BY c.name
    FOR UPDATE OF c
)
UPDATE commonhold.claims AS c SET expires_at = $3
FROM held
WHERE c.name = held.name
RETURNING c.name;

-- name: release_claims
WITH held AS MATERIALIZED (
    SELECT c.name
    FROM commonhold.claims AS c
    INNER JOIN unnest($1::text [], $2::bigint []) AS claimed (name, token)
        ON c.name = claimed.name AND c.token = claimed.token
    ORDER BY c.name
    FOR UPDATE OF c
)
UPDATE commonhold.claims AS c SET token = c.token + 1, expires_at = '-infinity'
FROM held
WHERE c.name = held.name;

-- name: hold_claims
-- Until the end of the transaction nobody can take over what is in the answer.
SELECT c.name
FROM commonhold.claims AS c
INNER JOIN unnest($1::text [], $2::bigint []) AS claimed (name, token)
    ON c.name = claimed.name AND c.token = claimed.token
ORDER BY c.name
FOR SHARE OF c;
