-- The conversations of a schema of generation 4 copied into ours; see adopted_scopes.sql for
-- how the blocks go together. $1 are the conversations.

-- name: list_conversations
SELECT conversation_id AS unit FROM (
    (
        SELECT DISTINCT conversation_id FROM neosian.turns
        WHERE $1::text IS NULL OR conversation_id > $1 ORDER BY conversation_id LIMIT $2
    )
    UNION
    (
        SELECT DISTINCT conversation_id FROM neosian.projections
        WHERE $1::text IS NULL OR conversation_id > $1 ORDER BY conversation_id LIMIT $2
    )
    UNION
    (
        SELECT DISTINCT conversation_id FROM neosian.turn_redactions
        WHERE $1::text IS NULL OR conversation_id > $1 ORDER BY conversation_id LIMIT $2
    )
) AS found
ORDER BY unit
LIMIT $2;

-- name: measure_conversations
SELECT conversation_id AS unit, count(*) AS held
FROM (
    SELECT conversation_id FROM neosian.turns WHERE conversation_id = ANY($1::text [])
    UNION ALL
    SELECT conversation_id FROM neosian.projections WHERE conversation_id = ANY($1::text [])
    UNION ALL
    SELECT conversation_id FROM neosian.turn_redactions WHERE conversation_id = ANY($1::text [])
) AS rows_of
GROUP BY conversation_id
ORDER BY conversation_id;

-- name: list_taken_conversations
SELECT conversation_id AS unit
FROM commonhold.conversations
WHERE conversation_id = ANY($1::text [])
ORDER BY unit;

-- name: read_conversations
-- Numbers go on from the highest, whether its turn lands or not.
SELECT
    c.conversation_id COLLATE "C" AS conversation_id,
    coalesce(t.last_turn, 0)::bigint AS last_turn,
    coalesce(t.newest_at, '-infinity') AS newest_at
FROM unnest($1::text []) AS c (conversation_id)
LEFT JOIN (
    SELECT
        conversation_id, greatest(max(turn), 0) AS last_turn,
        max(created_at) FILTER (
            WHERE
            created_at >= '0001-01-01 00:00+00' AND created_at < '10000-01-01 00:00+00'
        ) AS newest_at
    FROM neosian.turns
    WHERE conversation_id = ANY($1::text [])
    GROUP BY conversation_id
) AS t ON t.conversation_id = c.conversation_id

-- name: read_projections
SELECT
    p.conversation_id COLLATE "C" AS conversation_id,
    p.turn::bigint AS turn,
    p.span::bigint AS span,
    p.kind,
    p.text,
    p.neosian_format AS format,
    p.id,
    CASE
        WHEN p.turn < 1 THEN 'its turn is below 1'
        WHEN p.span < 1 OR p.span > p.turn THEN 'its span is not one of 1 to its turn'
    END AS fault
FROM neosian.projections AS p
WHERE p.conversation_id = ANY($1::text [])

-- name: read_turn_redactions
SELECT
    r.conversation_id COLLATE "C" AS conversation_id,
    ARRAY(
        SELECT DISTINCT u.turn::bigint FROM unnest(r.turns) AS u (turn) ORDER BY u.turn::bigint
    ) AS turns,
    r.actor,
    r.created_at,
    r.id,
    CASE
        WHEN coalesce(array_length(r.turns, 1), 0) = 0 THEN 'it names no turn'
        WHEN array_position(r.turns, NULL) IS NOT NULL OR 1 > ANY(r.turns)
            THEN 'it names a turn below 1'
        WHEN r.created_at < '0001-01-01 00:00+00' OR r.created_at >= '10000-01-01 00:00+00'
            THEN 'its time is out of range'
    END AS fault
FROM neosian.turn_redactions AS r
WHERE r.conversation_id = ANY($1::text [])

-- name: copy_conversations
-- Waits for another run that copies the same ones, and then takes no row.
INSERT INTO commonhold.conversations (conversation_id, last_turn, newest_at)
SELECT conversation_id, last_turn, newest_at
FROM ({read_conversations}) AS heads
ORDER BY conversation_id
ON CONFLICT (conversation_id) DO NOTHING
RETURNING conversation_id AS unit;

-- name: copy_projections
INSERT INTO commonhold.projections (conversation_id, turn, span, kind, text, format)
SELECT conversation_id, turn, span, kind, text, format
FROM ({read_projections}) AS entries
WHERE fault IS NULL
ORDER BY id;

-- name: copy_turn_redactions
INSERT INTO commonhold.turn_redactions (conversation_id, turns, actor, created_at)
SELECT conversation_id, turns, actor, created_at
FROM ({read_turn_redactions}) AS acts
WHERE fault IS NULL
ORDER BY id;

-- name: list_old_turns
-- A time that no reader could be told is null.
SELECT
    conversation_id, turn, messages::text AS messages, actor, search_text, redacted,
    neosian_format AS format,
    CASE
        WHEN created_at >= '0001-01-01 00:00+00' AND created_at < '10000-01-01 00:00+00'
            THEN created_at
    END AS created_at
FROM neosian.turns
WHERE conversation_id = ANY($1::text [])
ORDER BY conversation_id, turn;

-- name: insert_turns
INSERT INTO commonhold.turns (
    conversation_id, turn, messages, created_at, actor, search_text, redacted, format
)
SELECT
    t.conversation_id, t.turn, t.messages::json, t.created_at, t.actor, t.search_text,
    t.redacted, t.format
FROM unnest(
    $1::text [], $2::bigint [], $3::text [], $4::timestamptz [], $5::text [], $6::text [],
    $7::boolean [], $8::integer []
) AS t (conversation_id, turn, messages, created_at, actor, search_text, redacted, format);

-- name: list_differing_turns
-- Which of the rows given are not there as they are given.
SELECT DISTINCT r.conversation_id AS unit
FROM unnest(
    $1::text [], $2::bigint [], $3::text [], $4::timestamptz [], $5::text [], $6::text [],
    $7::boolean [], $8::integer []
) AS r (conversation_id, turn, messages, created_at, actor, search_text, redacted, format)
LEFT JOIN commonhold.turns AS t
    ON t.conversation_id = r.conversation_id AND t.turn = r.turn
WHERE
    (r.turn, r.messages, r.created_at, r.actor, r.search_text, r.redacted, r.format)
    IS DISTINCT FROM (
        t.turn, t.messages::text, t.created_at, t.actor, t.search_text, t.redacted, t.format
    )
ORDER BY unit;

-- name: count_turns
SELECT conversation_id AS unit, count(*) AS held
FROM commonhold.turns
WHERE conversation_id = ANY($1::text [])
GROUP BY conversation_id
ORDER BY conversation_id;

-- name: list_differing_conversations
SELECT r.conversation_id AS unit
FROM ({read_conversations}) AS r
LEFT JOIN commonhold.conversations AS t ON t.conversation_id = r.conversation_id
WHERE (r.last_turn, r.newest_at) IS DISTINCT FROM (t.last_turn, t.newest_at)
ORDER BY unit;

-- name: list_differing_projections
SELECT DISTINCT coalesce(r.conversation_id, t.conversation_id) AS unit
FROM (
    SELECT
        conversation_id, turn, span, kind, text, format,
        row_number() OVER (PARTITION BY conversation_id ORDER BY id) AS position
    FROM ({read_projections}) AS entries
    WHERE fault IS NULL
) AS r
FULL JOIN (
    SELECT
        conversation_id, turn, span, kind, text, format,
        row_number() OVER (PARTITION BY conversation_id ORDER BY id) AS position
    FROM commonhold.projections
    WHERE conversation_id = ANY($1::text [])
) AS t ON t.conversation_id = r.conversation_id AND t.position = r.position
WHERE
    (r.position, r.turn, r.span, r.kind, r.text, r.format)
    IS DISTINCT FROM (t.position, t.turn, t.span, t.kind, t.text, t.format)
ORDER BY unit;

-- name: list_differing_turn_redactions
SELECT DISTINCT coalesce(r.conversation_id, t.conversation_id) AS unit
FROM (
    SELECT
        conversation_id, turns, actor, created_at,
        row_number() OVER (PARTITION BY conversation_id ORDER BY id) AS position
    FROM ({read_turn_redactions}) AS acts
    WHERE fault IS NULL
) AS r
FULL JOIN (
    SELECT
        conversation_id, turns, actor, created_at,
        row_number() OVER (PARTITION BY conversation_id ORDER BY id) AS position
    FROM commonhold.turn_redactions
    WHERE conversation_id = ANY($1::text [])
) AS t ON t.conversation_id = r.conversation_id AND t.position = r.position
WHERE
    (r.position, r.turns, r.actor, r.created_at)
    IS DISTINCT FROM (t.position, t.turns, t.actor, t.created_at)
ORDER BY unit;

-- name: list_odd_conversation_rows
SELECT unit, name, fault, false AS missed, format
FROM (
    SELECT
        conversation_id AS unit, 'projection ' || id AS name, id, fault, format
    FROM ({read_projections}) AS entries
    UNION ALL
    SELECT
        conversation_id AS unit, 'erasure ' || id AS name, id, fault, 1 AS format
    FROM ({read_turn_redactions}) AS acts
) AS found
WHERE fault IS NOT NULL OR format <> 1
ORDER BY unit, name, id;
