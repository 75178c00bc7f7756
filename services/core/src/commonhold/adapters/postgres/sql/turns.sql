-- Conversations, their turns, projections and erasure trail. An append is one update of the
-- conversation's row, whose lock serialises the appenders, and one insert.

-- name: append_turn
WITH head AS (
    INSERT INTO commonhold.conversations AS c (conversation_id, last_turn, newest_at)
    VALUES ($1, 1, $4)
    ON CONFLICT (conversation_id) DO UPDATE SET
        last_turn = c.last_turn + 1,
        newest_at = greatest(c.newest_at, excluded.newest_at)
    RETURNING last_turn, newest_at
)
INSERT INTO commonhold.turns (
    conversation_id, turn, messages, created_at, actor, search_text
)
SELECT $1, last_turn, $2, newest_at, $3, $5 FROM head
RETURNING turn, created_at;

-- name: list_turns
-- What lies behind the turn with which they pass the weight $4 in bytes is left out; `asked`
-- counts the turns there would have been.
SELECT conversation_id, turn, messages, created_at, actor, redacted, format, asked
FROM (
    SELECT
        conversation_id, turn, messages, created_at, actor, redacted, format,
        count(*) OVER () AS asked,
        sum(weight) OVER (ORDER BY turn) - weight AS weight_before
    FROM (
        SELECT
            conversation_id, turn, messages, created_at, actor, redacted, format,
            coalesce(octet_length(actor), 0) + CASE
                WHEN pg_column_compression(messages) IS NULL THEN pg_column_size(messages)
                ELSE octet_length(messages::text)
            END AS weight
        FROM commonhold.turns
        WHERE conversation_id = $1 AND turn > $2
        ORDER BY turn
        LIMIT $3
    ) AS found
) AS weighed
WHERE weight_before < $4
ORDER BY turn;

-- name: select_turn
SELECT conversation_id, turn, messages, created_at, actor, redacted, format
FROM commonhold.turns
WHERE conversation_id = $1 AND turn = $2;

-- name: select_last_turn
SELECT last_turn
FROM commonhold.conversations
WHERE conversation_id = $1;

-- name: search_turns
-- $1 and $2 are the patterns that the trigram index intersects: two rare parts of the terms,
-- then $3 has all the terms; or the two longest terms, then $3 has the others, since the
-- planner would count a common one twice. Where the
-- hits weigh more than $5 bytes in all, they come without their messages. $6 are ids, $7
-- prefixes of ids and $8 to $9 a range that holds them all; one that is null is no fence,
-- and vanishes from the plan, which is made for the values.
SELECT
    conversation_id, turn, created_at, redacted, format,
    CASE WHEN sum(weight) OVER () <= $5 THEN messages END AS messages,
    CASE WHEN sum(weight) OVER () <= $5 THEN actor END AS actor
FROM (
    SELECT
        conversation_id, turn, messages, created_at, actor, redacted, format,
        coalesce(octet_length(actor), 0) + CASE
            WHEN pg_column_compression(messages) IS NULL THEN pg_column_size(messages)
            ELSE octet_length(messages::text)
        END AS weight
    FROM commonhold.turns
    WHERE
        NOT redacted AND search_text LIKE $1 AND search_text LIKE $2
        AND search_text LIKE ALL($3::text [])
        AND ($6::text [] IS NULL OR conversation_id = ANY($6::text []))
        AND ($7::text [] IS NULL OR conversation_id ^@ ANY($7::text []))
        AND ($8::text IS NULL OR conversation_id >= $8::text)
        AND ($9::text IS NULL OR conversation_id < $9::text)
    ORDER BY created_at DESC, conversation_id DESC, turn DESC
    LIMIT $4
) AS hits
ORDER BY created_at DESC, conversation_id DESC, turn DESC;

-- name: sample_search_texts
-- The beginnings of up to $1 texts, of $2 characters, from some hundred blocks of the table.
SELECT substr(search_text, 1, $2) AS text
FROM commonhold.turns TABLESAMPLE SYSTEM ((
    SELECT least(100, 100 * 100.0 / greatest(c.relpages, 1))
    FROM pg_catalog.pg_class AS c
    WHERE c.oid = 'commonhold.turns'::regclass
))
WHERE NOT redacted
LIMIT $1;

-- name: append_projections
WITH head AS (
    INSERT INTO commonhold.conversations AS c (conversation_id, last_turn, newest_at)
    VALUES ($1, 0, '-infinity')
    ON CONFLICT (conversation_id) DO UPDATE SET last_turn = c.last_turn
    RETURNING conversation_id
)
INSERT INTO commonhold.projections (conversation_id, turn, span, kind, text)
SELECT head.conversation_id, e.turn, e.span, e.kind, e.text
FROM head, unnest($2::bigint [], $3::bigint [], $4::text [], $5::text [])
WITH ORDINALITY AS e (turn, span, kind, text, position)
ORDER BY e.position;

-- name: list_projections
-- Cut by the weight $4 as list_turns is.
SELECT turn, span, kind, text, format, asked
FROM (
    SELECT
        id, turn, span, kind, text, format,
        count(*) OVER () AS asked,
        sum(weight) OVER (ORDER BY turn, span, id) - weight AS weight_before
    FROM (
        SELECT id, turn, span, kind, text, format, octet_length(text) AS weight
        FROM commonhold.projections
        WHERE conversation_id = $1 AND turn > $2
        ORDER BY turn, span, id
        LIMIT $3
    ) AS found
) AS weighed
WHERE weight_before < $4
ORDER BY turn, span, id;

-- name: claim_conversation
INSERT INTO commonhold.conversations (conversation_id, last_turn, newest_at)
VALUES ($1, 0, '-infinity')
ON CONFLICT (conversation_id) DO NOTHING;

-- name: lock_conversation
SELECT newest_at
FROM commonhold.conversations
WHERE conversation_id = $1
FOR UPDATE;

-- name: blank_turns
-- $2 null selects by $3, both null select all. Already blank turns are matched and counted.
WITH blanked AS (
    UPDATE commonhold.turns SET messages = '[]', search_text = '', redacted = true
    WHERE
        conversation_id = $1
        AND ($2::bigint IS NULL OR turn <= $2)
        AND ($3::bigint [] IS NULL OR turn = ANY($3))
    RETURNING turn
)
SELECT turn FROM blanked ORDER BY turn;

-- name: blank_projections
UPDATE commonhold.projections AS p SET text = ''
WHERE
    p.conversation_id = $1 AND p.text <> ''
    AND EXISTS (
        SELECT 1 FROM commonhold.turns AS t
        WHERE
            t.conversation_id = $1 AND t.turn > p.turn - p.span AND t.turn <= p.turn
            AND ($2::bigint IS NULL OR t.turn <= $2)
            AND ($3::bigint [] IS NULL OR t.turn = ANY($3))
    );

-- name: insert_turn_redaction
INSERT INTO commonhold.turn_redactions (conversation_id, turns, actor, created_at)
VALUES ($1, $2, $3, $4);

-- name: advance_conversation
UPDATE commonhold.conversations
SET newest_at = greatest(newest_at, $2)
WHERE conversation_id = $1;

-- name: list_turn_redactions
-- Where the acts weigh more than $3 bytes in all, a turn's number being 11, they come without
-- their turns.
SELECT
    conversation_id, created_at, format,
    CASE WHEN sum(weight) OVER () <= $3 THEN turns END AS turns,
    CASE WHEN sum(weight) OVER () <= $3 THEN actor END AS actor
FROM (
    SELECT
        id, conversation_id, turns, created_at, actor, format,
        coalesce(octet_length(actor), 0) + 11::bigint * cardinality(turns) AS weight
    FROM commonhold.turn_redactions
    WHERE created_at >= coalesce($1, '-infinity'::timestamptz)
    ORDER BY created_at DESC, conversation_id DESC, id DESC
    LIMIT $2
) AS acts
ORDER BY created_at DESC, conversation_id DESC, id DESC;

-- name: list_turn_redactions_of
SELECT
    conversation_id, created_at, format,
    CASE WHEN sum(weight) OVER () <= $3 THEN turns END AS turns,
    CASE WHEN sum(weight) OVER () <= $3 THEN actor END AS actor
FROM (
    SELECT
        id, conversation_id, turns, created_at, actor, format,
        coalesce(octet_length(actor), 0) + 11::bigint * cardinality(turns) AS weight
    FROM commonhold.turn_redactions
    WHERE
        created_at >= coalesce($1, '-infinity'::timestamptz)
        AND conversation_id = ANY($4::text [])
    ORDER BY created_at DESC, conversation_id DESC, id DESC
    LIMIT $2
) AS acts
ORDER BY created_at DESC, conversation_id DESC, id DESC;

-- name: list_conversations
SELECT c.conversation_id
FROM commonhold.conversations AS c
WHERE
    c.last_turn > 0
    OR EXISTS (
        SELECT 1 FROM commonhold.projections AS p
        WHERE p.conversation_id = c.conversation_id
    )
ORDER BY c.conversation_id;

-- name: is_conversation_occupied
SELECT EXISTS (
    SELECT 1 FROM commonhold.conversations WHERE conversation_id = $1
);

-- name: archive_turns
SELECT conversation_id, turn, messages, created_at, actor, redacted, format
FROM commonhold.turns
WHERE conversation_id = $1
ORDER BY turn;

-- name: archive_projections
SELECT turn, span, kind, text, format
FROM commonhold.projections
WHERE conversation_id = $1
ORDER BY turn, span, id;

-- name: archive_turn_redactions
SELECT conversation_id, turns, actor, created_at, format
FROM commonhold.turn_redactions
WHERE conversation_id = $1
ORDER BY created_at, id;

-- name: restore_conversation
-- No row comes back when the conversation is there already.
INSERT INTO commonhold.conversations (conversation_id, last_turn, newest_at)
VALUES ($1, $2, $3)
ON CONFLICT (conversation_id) DO NOTHING
RETURNING conversation_id;

-- name: restore_turns
INSERT INTO commonhold.turns (
    conversation_id, turn, messages, created_at, actor, search_text, redacted
)
SELECT $1, t.turn, t.messages::json, t.created_at, t.actor, t.search_text, t.redacted
FROM unnest(
    $2::bigint [], $3::text [], $4::timestamptz [], $5::text [], $6::text [], $7::boolean []
) AS t (turn, messages, created_at, actor, search_text, redacted);

-- name: restore_projections
INSERT INTO commonhold.projections (conversation_id, turn, span, kind, text)
SELECT $1, e.turn, e.span, e.kind, e.text
FROM unnest($2::bigint [], $3::bigint [], $4::text [], $5::text [])
WITH ORDINALITY AS e (turn, span, kind, text, position)
ORDER BY e.position;
