#!/bin/sh
#
# make-secrets.sh FOLDER: the credentials of the stack, each in a file of its own.
#
# Made once: what is there stays, so that a value of your own is put there before the first start.
# The folder is its owner's alone. The files in it can be read by whoever gets past it, since a
# container's user, who is nobody on this machine, reads each through a mount of its own.

set -eu
umask 077
mkdir -p "$1"
chmod 700 "$1"
cd "$1"

random() { od -An -vtx1 -N32 /dev/urandom | tr -d ' \n'; }

put() {  # NAME TEXT
    [ ! -e "$1" ] || return 0
    printf %s "$2" >"$1.new"
    chmod 644 "$1.new"
    mv "$1.new" "$1"
}

put serve_token "$(random)"
put serve_token_previous ''
put postgres_password "$(random)"
put postgres_serve_password "$(random)"
put grafana_password "$(random)"

# A password of your own may hold what means something in a URL, or in the list of a pooler.
in_url() {
  case $(cat "$1") in
    *[!A-Za-z0-9._~-]*) printf %s "$(cat "$1")" | od -An -v -tx1 | tr -d '\n' | tr ' ' '%' ;;
    *) cat "$1" ;;
  esac
}
quoted() { printf '"%s"' "$(sed 's/"/""/g' "$1")"; }

dsn() { printf 'postgresql://%s:%s@%s/commonhold' "$1" "$(in_url "$2")" "$3"; }
put migrate_dsn "$(dsn commonhold postgres_password postgres:5432)"
put serve_dsn "$(dsn commonhold_serve postgres_serve_password postgres:5432)"
put pooled_dsn "$(dsn commonhold_serve postgres_serve_password pgbouncer:6432)"
put pgbouncer_users "\"commonhold_serve\" $(quoted postgres_serve_password)"
