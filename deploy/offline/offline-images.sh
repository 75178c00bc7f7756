#!/usr/bin/env bash
#
# offline-images.sh - build stand-ins for the public images that this project uses.
#
# For a machine with a Docker engine and a Debian mirror that reaches no container registry. The
# images carry the public names and tags, so the Dockerfile, the compose file and the tests use
# them unchanged. Where a registry is reachable there is no need for this.
#
#   offline-images.sh [-f] [-l] [NAME...]
#       NAME   names from the list below; default: all of them
#       -f     rebuild the named images even if they exist, without the build cache
#       -l     list names and tags, build nothing
#
# An image whose tags all exist is skipped. Run as root: debootstrap makes the base image.
# The mirror is the one in this machine's apt sources; DEBIAN_MIRROR overrides it. Certificates
# in /usr/local/share/ca-certificates are copied into the images, so that packages install in
# them behind a TLS-inspecting proxy too; keep the images local.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

declare -A TAGS=(
    [trixie]='debian:trixie-slim'
    [python]='python:3.13-slim python:3.13-slim-trixie'
    [postgres]='postgres:17 postgres:17-trixie pgvector/pgvector:pg17'
    [prometheus]='prom/prometheus:v2.53.3'
    [alertmanager]='prom/alertmanager:v0.28.1'
    [pgbouncer]='pgbouncer:1.24'
    [haproxy]='haproxy:3.0'
)
ORDER=(trixie python postgres prometheus alertmanager pgbouncer haproxy)

say() { printf 'offline-images: %s\n' "$*"; }
die() { printf 'offline-images: error: %s\n' "$*" >&2; exit 1; }

# The mirror behind this machine's own suite, from one-line and deb822 apt sources.
debian_mirror() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then printf '%s\n' "$DEBIAN_MIRROR"; return; fi
    local id codename
    # shellcheck source=/dev/null
    id=$(. /etc/os-release && echo "$ID")
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ "$id" = debian ] || die 'not a Debian machine: set DEBIAN_MIRROR'
    local -a files=()
    mapfile -t files < <(ls /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
        /etc/apt/sources.list.d/*.sources 2>/dev/null)
    [ "${#files[@]}" -gt 0 ] || die 'no apt sources: set DEBIAN_MIRROR'
    local mirror
    mirror=$(awk -v suite="$codename" '
        function emit(uris, suites,   n, i, a) {
            n = split(suites, a, " ")
            for (i = 1; i <= n; i++) if (a[i] == suite && !done) { split(uris, u, " "); print u[1]; done = 1 }
        }
        function flush() { if (types ~ /(^| )deb( |$)/) emit(uris, suites); types = uris = suites = "" }
        FNR == 1            { flush() }
        /^[ \t]*#/          { next }
        /^[ \t]*$/          { flush(); next }
        /^deb[ \t]/         { sub(/^deb[ \t]+(\[[^]]*\][ \t]+)?/, ""); emit($1, $2); next }
        tolower($1) == "types:"  { $1 = ""; types = substr($0, 2) }
        tolower($1) == "uris:"   { $1 = ""; uris = substr($0, 2) }
        tolower($1) == "suites:" { $1 = ""; suites = substr($0, 2) }
        END                 { flush() }' "${files[@]}")
    [ -n "$mirror" ] || die "no mirror for $codename in the apt sources: set DEBIAN_MIRROR"
    printf '%s\n' "$mirror"
}

have_all_tags() {
    local tag
    for tag in ${TAGS[$1]}; do docker image inspect "$tag" >/dev/null 2>&1 || return 1; done
}

# build NAME <Dockerfile: with the files of directory $ctx beside it
build() {
    local name=$1 tag args=()
    [ "$force" = no ] || args+=(--no-cache)
    for tag in ${TAGS[$name]}; do args+=(-t "$tag"); done
    cat >"$ctx/Dockerfile"
    DOCKER_BUILDKIT=0 docker build -q --force-rm "${args[@]}" "$ctx" >"$ctx.log" 2>&1 ||
        { tail -n 40 "$ctx.log" >&2; die "building $name failed"; }
}

# The one way in which the images below install packages.
apt_install() {
    printf 'RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends %s >/dev/null && apt-get clean && rm -rf /var/lib/apt/lists/*\n' "$*"
}

image_trixie() {
    local mirror root crt
    mirror=$(debian_mirror)
    command -v debootstrap >/dev/null || {
        say 'installing debootstrap'
        apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
    }
    root=$ctx/rootfs
    debootstrap --variant=minbase trixie "$root" "$mirror" >"$ctx.log" 2>&1 ||
        { tail -n 20 "$ctx.log" >&2; die "debootstrap failed"; }
    # what makes it "slim"
    printf '%s\n' 'path-exclude /usr/share/doc/*' 'path-include /usr/share/doc/*/copyright' \
        'path-exclude /usr/share/man/*' 'path-exclude /usr/share/locale/*' \
        >"$root/etc/dpkg/dpkg.cfg.d/docker"
    rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* \
        "$root"/usr/share/man/* "$root"/usr/share/locale/*
    find "$root/usr/share/doc" -mindepth 1 -not -name copyright -not -type d -delete
    mkdir -p "$root/usr/local/share/ca-certificates"
    for crt in /usr/local/share/ca-certificates/*.crt; do
        if [ -e "$crt" ]; then cp -L "$crt" "$root/usr/local/share/ca-certificates/"; fi
    done
    tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "${TAGS[trixie]}" >/dev/null
}

image_python() {
    build python <<DOCKER
FROM debian:trixie-slim
ENV LANG=C.UTF-8
$(apt_install ca-certificates netbase tzdata python3.13 python3.13-venv python3-pip)
# The public image has a plain CPython: python and pip on PATH, pip free to install system-wide.
RUN rm -f /usr/lib/python3.13/EXTERNALLY-MANAGED \
 && ln -s /usr/bin/python3.13 /usr/local/bin/python && ln -s /usr/bin/python3.13 /usr/local/bin/python3
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt
CMD ["python3"]
DOCKER
}

image_postgres() {
    cat >"$ctx/docker-entrypoint.sh" <<'ENTRYPOINT'
#!/bin/bash
# Does what the public postgres image's entrypoint is documented to do.
set -Eeuo pipefail

fail() { printf 'Error: %s\n' "$*" >&2; exit 1; }

from_file() {  # NAME: take it from the file in NAME_FILE, if that is set
    local var=$1 file=${1}_FILE
    if [ -n "${!file:-}" ]; then
        [ -z "${!var:-}" ] || fail "both $var and $file are set (but are exclusive)"
        export "$var=$(<"${!file}")"
        unset "$file"
    fi
}

[ "${1:0:1}" != '-' ] || set -- postgres "$@"
[ "${1:-}" = postgres ] || exec "$@"
for arg; do case $arg in -\? | --help | --describe-config | -V | --version) exec "$@" ;; esac; done

if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA" /var/run/postgresql ${POSTGRES_INITDB_WALDIR:+"$POSTGRES_INITDB_WALDIR"}
    chmod 00700 "$PGDATA" || :
    chmod 03777 /var/run/postgresql || :
    find "$PGDATA" /var/run/postgresql ${POSTGRES_INITDB_WALDIR:+"$POSTGRES_INITDB_WALDIR"} \
        \! -user postgres -exec chown postgres '{}' +
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

if [ -s "$PGDATA/PG_VERSION" ]; then
    printf '\nPostgreSQL Database directory appears to contain a database; Skipping initialization\n\n'
    exec "$@"
fi

from_file POSTGRES_PASSWORD
from_file POSTGRES_USER
from_file POSTGRES_DB
from_file POSTGRES_INITDB_ARGS
: "${POSTGRES_USER:=postgres}" "${POSTGRES_HOST_AUTH_METHOD:=}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
if [ -z "${POSTGRES_PASSWORD:-}" ] && [ "$POSTGRES_HOST_AUTH_METHOD" != trust ]; then
    fail 'Database is uninitialized and superuser password is not specified.
       You must specify POSTGRES_PASSWORD to a non-empty value for the superuser.'
fi

# initdb wants its own user to have a name: make one up for `--user 1234` and Kubernetes' runAsUser.
if ! getent passwd "$(id -u)" >/dev/null; then
    nss=$(mktemp -d)
    printf 'postgres:x:%s:%s:PostgreSQL:%s:/bin/false\n' "$(id -u)" "$(id -g)" "$PGDATA" >"$nss/passwd"
    printf 'postgres:x:%s:\n' "$(id -g)" >"$nss/group"
    export NSS_WRAPPER_PASSWD=$nss/passwd NSS_WRAPPER_GROUP=$nss/group LD_PRELOAD=libnss_wrapper.so
fi
eval "initdb_args=(${POSTGRES_INITDB_ARGS:-})"
initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "${POSTGRES_PASSWORD:-}") \
    ${POSTGRES_INITDB_WALDIR:+"--waldir=$POSTGRES_INITDB_WALDIR"} ${initdb_args[@]+"${initdb_args[@]}"}
method=${POSTGRES_HOST_AUTH_METHOD:-$("$@" -C password_encryption)}
printf '\nhost all all all %s\n' "$method" >>"$PGDATA/pg_hba.conf"

# A server for the init scripts alone: on the socket only, with the arguments of the real one.
NOTIFY_SOCKET='' pg_ctl -D "$PGDATA" -w start -o "$(printf '%q ' "${@:2}" -c listen_addresses= -p "${PGPORT:-5432}")"
sql() {
    PGHOST='' PGHOSTADDR='' PGPASSWORD=${PGPASSWORD:-${POSTGRES_PASSWORD:-}} psql -v ON_ERROR_STOP=1 \
        --username "$POSTGRES_USER" --no-password --no-psqlrc "$@"
}
if [ "$POSTGRES_DB" != postgres ]; then
    printf 'CREATE DATABASE :"db";\n' | sql --dbname postgres --set db="$POSTGRES_DB"
fi
for f in /docker-entrypoint-initdb.d/*; do
    [ -e "$f" ] || continue
    printf '%s: running %s\n' "$0" "$f"
    case $f in
        *.sh) if [ -x "$f" ]; then "$f"; else . "$f"; fi ;;
        *.sql) sql --dbname "$POSTGRES_DB" -f "$f" ;;
        *.sql.gz) gunzip -c "$f" | sql --dbname "$POSTGRES_DB" ;;
        *.sql.xz) xzcat "$f" | sql --dbname "$POSTGRES_DB" ;;
        *) printf '%s: ignoring %s\n' "$0" "$f" ;;
    esac
done
pg_ctl -D "$PGDATA" -m fast -w stop
printf '\nPostgreSQL init process complete; ready for start up.\n\n'
if [ -n "${nss:-}" ]; then
    rm -rf "$nss"
    unset LD_PRELOAD NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
fi
unset PGPASSWORD
exec "$@"
ENTRYPOINT
    chmod 755 "$ctx/docker-entrypoint.sh"
    build postgres <<DOCKER
FROM debian:trixie-slim
RUN groupadd -r postgres --gid=999 \
 && useradd -r -g postgres --uid=999 --home-dir=/var/lib/postgresql --shell=/bin/bash postgres \
 && install -d -o postgres -g postgres -m 1777 /var/lib/postgresql /var/lib/postgresql/data \
 && install -d -o postgres -g postgres -m 3777 /var/run/postgresql \
 && mkdir /docker-entrypoint-initdb.d /etc/postgresql-common \
 && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
$(apt_install libnss-wrapper locales xz-utils postgresql-17 postgresql-17-pgvector)
RUN localedef -i en_US -c -f UTF-8 en_US.UTF-8 \
 && sed -ri "s!^#?listen_addresses\s*=.*!listen_addresses = '*'!" /usr/share/postgresql/17/postgresql.conf.sample
ENV LANG=en_US.utf8 PG_MAJOR=17 PGDATA=/var/lib/postgresql/data PATH=/usr/lib/postgresql/17/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
COPY docker-entrypoint.sh /usr/local/bin/
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
DOCKER
}

image_prometheus() {
    build prometheus <<DOCKER
FROM debian:trixie-slim
$(apt_install ca-certificates prometheus)
RUN mkdir -p /etc/prometheus /prometheus && chown nobody:nogroup /etc/prometheus /prometheus
USER nobody
WORKDIR /prometheus
VOLUME /prometheus
EXPOSE 9090
ENTRYPOINT ["/bin/prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
DOCKER
}

image_alertmanager() {
    build alertmanager <<DOCKER
FROM debian:trixie-slim
$(apt_install ca-certificates prometheus-alertmanager)
RUN ln -s /usr/bin/prometheus-alertmanager /usr/bin/alertmanager \
 && mkdir -p /etc/alertmanager /alertmanager && chown nobody:nogroup /alertmanager
USER nobody
WORKDIR /alertmanager
VOLUME /alertmanager
EXPOSE 9093
ENTRYPOINT ["/bin/alertmanager"]
CMD ["--config.file=/etc/alertmanager/alertmanager.yml", "--storage.path=/alertmanager"]
DOCKER
}

# No public image has this name: the recipe is the one that the stack builds by.
image_pgbouncer() { build pgbouncer <"$here/../pgbouncer/Dockerfile"; }

image_haproxy() {
    build haproxy <<DOCKER
FROM debian:trixie-slim
$(apt_install ca-certificates haproxy)
RUN mkdir -p /usr/local/etc/haproxy
USER haproxy
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
DOCKER
}

make_image() {
    local name=$1 started
    if [ "$force" = no ] && have_all_tags "$name"; then
        say "skip   $name (${TAGS[$name]})"
        return
    fi
    [ "$name" = trixie ] || have_all_tags trixie || make_image trixie
    started=$SECONDS
    say "build  $name (${TAGS[$name]})"
    ctx=$work/$name
    mkdir -p "$ctx"
    "image_$name"
    rm -rf "$ctx" "$ctx.log"
    say "done   $name in $((SECONDS - started)) s, $(docker image inspect -f '{{.Size}}' "${TAGS[$name]%% *}" | awk '{ printf "%.0f MB", $1 / 1e6 }')"
}

force=no
while getopts fl opt; do
    case $opt in
        f) force=yes ;;
        l) for name in "${ORDER[@]}"; do printf '%-13s %s\n' "$name" "${TAGS[$name]}"; done; exit 0 ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- "${ORDER[@]}"
for name; do [ -n "${TAGS[$name]:-}" ] || die "no image called '$name' (see -l)"; done

docker version >/dev/null 2>&1 || die 'no Docker engine answers (ensure-docker.sh starts one)'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name; do make_image "$name"; done
