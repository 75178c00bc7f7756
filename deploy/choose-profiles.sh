#!/bin/sh
#
# choose-profiles.sh [PROFILE...]: from now on the stack runs these profiles, and no other.
#
# The choice is kept in .env with what follows from it, so that every later command sees the same
# stack; other lines of that file stay as they are. What runs and is not chosen is removed.

set -eu
known=$(docker compose config --profiles)
for profile; do
    echo "$known" | grep -qx -- "$profile" || {
        echo "choose-profiles.sh: error: no profile is called '$profile'; there are: $(echo "$known" | tr '\n' ' ')" >&2
        exit 2
    }
done

chosen() { case " $profiles " in *" $1 "*) true ;; *) false ;; esac; }
profiles=$*
touch .env
{
    grep -vE '^(COMPOSE_PROFILES|SERVE_DSN|TARGETS)=' .env || true
    echo "COMPOSE_PROFILES=$(echo "$profiles" | tr ' ' ',')"
    if chosen pgbouncer; then echo SERVE_DSN=pooled_dsn; fi
    if chosen replicas; then echo TARGETS=two; fi
} >.env.new
mv .env.new .env

running=$(docker compose --profile '*' ps --all --services)
wanted=$(docker compose config --services)
for service in $running; do
    echo "$wanted" | grep -qx -- "$service" || docker compose --profile '*' rm --stop --force "$service"
done
