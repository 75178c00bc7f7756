#!/bin/sh
# Runs once, when the volume is new: the role that the services use. It owns nothing; `commonhold
# migrate --grant-to` gives it the rows of our tables and no say in their shape.
set -eu
psql --quiet --set ON_ERROR_STOP=1 --set password="$(cat "$POSTGRES_SERVE_PASSWORD_FILE")" \
  --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE commonhold_serve LOGIN PASSWORD :'password';
SQL
