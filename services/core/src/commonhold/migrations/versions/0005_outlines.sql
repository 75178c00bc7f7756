-- compatible_from: 1
-- What an outline of a scope reads instead of all of its documents. On a filled table the
-- runner builds these ahead of this step, concurrently.

CREATE INDEX IF NOT EXISTS documents_recent
ON commonhold.documents (scope, updated_at DESC, path) WHERE is_live;

CREATE INDEX IF NOT EXISTS documents_newer_format
ON commonhold.documents (scope, path) WHERE is_live AND format <> 1;
