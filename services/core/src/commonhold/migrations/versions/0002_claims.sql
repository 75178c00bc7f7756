-- compatible_from: 1
-- Claims: who works on something alone, for how long, and the number that fences others off.

-- One row a name that was ever claimed, never removed: its number only rises. A released one
-- expires at -infinity.
CREATE TABLE commonhold.claims (
    name text COLLATE "C" NOT NULL,
    token bigint NOT NULL,
    holder text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT claims_pkey PRIMARY KEY (name)
) WITH (fillfactor = 70);
