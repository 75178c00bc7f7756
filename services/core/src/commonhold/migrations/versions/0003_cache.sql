-- compatible_from: 1
-- Shared state that expires: values and counters, and series of hits.

-- Unlogged: what a crash loses here is worth a few calls. The key is found by its digest,
-- since no index holds a text of any length. No index on expires_at: it would be written
-- with every hit, and the sweep may read the whole of these small tables.
CREATE UNLOGGED TABLE commonhold.cache_values (
    digest bytea NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    expires_at timestamptz,
    CONSTRAINT cache_values_pkey PRIMARY KEY (digest)
) WITH (fillfactor = 70);

CREATE UNLOGGED TABLE commonhold.cache_series (
    digest bytea NOT NULL,
    key text COLLATE "C" NOT NULL,
    hits float8 [] NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT cache_series_pkey PRIMARY KEY (digest)
) WITH (fillfactor = 70);
