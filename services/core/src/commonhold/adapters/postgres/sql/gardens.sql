-- Gardens: when each was last seen to, and what waits in the queue.

-- name: list_garden_runs
SELECT garden, finished_at, succeeded_at
FROM commonhold.garden_runs
ORDER BY garden;

-- name: record_garden_run
INSERT INTO commonhold.garden_runs AS g (garden, finished_at, succeeded_at)
VALUES ($1, $2, $3)
ON CONFLICT (garden) DO UPDATE SET
    finished_at = excluded.finished_at,
    succeeded_at = coalesce(excluded.succeeded_at, g.succeeded_at);

-- name: select_job_backlog
-- What waits or runs, and for how many seconds the oldest claim has been held.
SELECT
    count(*) AS depth,
    coalesce(extract(EPOCH FROM now() - min(updated) FILTER (WHERE status = 'picked')), 0)::float8
        AS oldest_seconds
FROM commonhold.jobs
WHERE status IN ('queued', 'picked') AND entrypoint = ANY($1::text []);

-- name: sweep_job_log
DELETE FROM commonhold.job_log
WHERE id IN (
    SELECT id FROM commonhold.job_log
    WHERE created < now() - interval '7 days'
    ORDER BY created
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
);
