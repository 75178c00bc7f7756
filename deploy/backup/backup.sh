#!/bin/bash
#
# backup.sh: dumps of the database on a schedule, and back. The container of the profile `backup`.
#
#   schedule          a dump whenever the newest is BACKUP_EVERY_SECONDS old; keeps BACKUP_KEEP
#   now               a dump at once; prints its name
#   list              what is kept, oldest first
#   restore NAME      puts a dump in place of what the database holds; `-` reads it from stdin
#   healthy           whether the newest dump is as young as the schedule says
#
# A dump counts when it is whole: until then it has another name. Extensions are in it, roles are
# not, and neither is what may be lost at any time.

set -euo pipefail
# A dump holds everything.
umask 077

folder=${BACKUPS:?}
every=${BACKUP_EVERY_SECONDS:?}
keep=${BACKUP_KEEP:?}
PGPASSWORD=$(<"${PGPASSWORD_FILE:?}")
export PGPASSWORD

say() { printf 'backup: %s\n' "$*" >&2; }

list() { find "$folder" -maxdepth 1 -name 'commonhold-*.dump' -printf '%f\n' | sort; }

age_of_newest() {
    local newest
    newest=$(list | tail -n 1)
    [ -n "$newest" ] || { echo "$((every * 1000))"; return; }
    echo $(($(date +%s) - $(stat -c %Y "$folder/$newest")))
}

now() {
    local name
    name=commonhold-$(date -u +%Y%m%dT%H%M%S.%3NZ).dump
    pg_dump --format=custom --no-unlogged-table-data --file="$folder/$name.partial" &&
        sync "$folder/$name.partial" &&
        mv "$folder/$name.partial" "$folder/$name" &&
        list | head -n "-$keep" | while read -r old; do rm "$folder/$old"; done &&
        echo "$name"
}

schedule() {
    trap 'exit 0' TERM INT
    rm -f "$folder"/*.partial
    local left
    while :; do
        left=$((every - $(age_of_newest)))
        if [ "$left" -le 0 ]; then
            if name=$(now); then say "made $name"; left=$every; else say 'failed; again in a minute'; left=60; fi
        fi
        sleep "$left" &
        wait $!
    done
}

# All or nothing: what is cut off before its COMMIT changes nothing.
restore() {
    local from=()
    if [ "$1" != - ]; then
        [ -f "$folder/$1" ] || { say "there is no $1; there are: $(list | tr '\n' ' ')"; exit 1; }
        from=("$folder/$1")
    fi
    {
        echo 'SET client_min_messages = warning; BEGIN; DROP SCHEMA IF EXISTS commonhold CASCADE;'
        pg_restore --file=- "${from[@]}"
        echo 'COMMIT;'
    } | psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --output=/dev/null
    say 'restored'
}

case ${1:-} in
    schedule | now | list) "$1" ;;
    restore) restore "${2:?names a dump, or - for stdin}" ;;
    healthy) [ "$(age_of_newest)" -le $((every + 3600)) ] ;;
    *) say "what is '${1:-}'?"; exit 2 ;;
esac
