#!/usr/bin/env bash
#
# kubernetes-programs.sh WHAT VERSION FOLDER: compile what kubernetes.sh runs, from public Go modules,
# unless FOLDER has it already. Needs Go, and a place where Go finds modules.
#
#   cluster    etcd, the API server, controller manager, scheduler, kubelet, kube-proxy, kube-router
#              (which enforces NetworkPolicy), CoreDNS and kubectl, into FOLDER/bin
#   metrics    the metrics server, into FOLDER/bin
#   crds       the resource definitions of the Prometheus Operator and the Gateway API, into FOLDER/crds

set -euo pipefail
[ $# = 3 ] || { sed -n '2,/^$/{s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

version=$2
bin=$3/bin
crds=$3/crds
coredns_version=1.13.1
kube_router_version=2.1.0
metrics_server_version=0.8.0
monitoring=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring

say() { printf 'kubernetes: %s\n' "$*" >&2; }
die() { printf 'kubernetes: error: %s\n' "$*" >&2; exit 1; }
need_go() { command -v go >/dev/null || die 'compiling the cluster needs Go 1.26 or later on the PATH'; }

# One Go module for all of them, so that what they share is compiled once.
commands=(
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager
    k8s.io/kubernetes/cmd/kube-scheduler k8s.io/kubernetes/cmd/kubelet k8s.io/kubernetes/cmd/kube-proxy
    k8s.io/kubernetes/cmd/kubectl
    go.etcd.io/etcd/server/v3
    github.com/cloudnativelabs/kube-router/v2/cmd/kube-router
    cluster/coredns
)

binary() {  # the file that a command's package is built as
    case $1 in */etcd/server/v3) echo etcd ;; *) basename "$1" ;; esac
}

write_module() {  # write_module DIRECTORY
    local source
    source=$(cd "$1" && go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    # Kubernetes' go.mod points its libraries at directories of its own tree; as modules they are v0.MINOR.PATCH.
    {
        printf 'module cluster\n\ngo 1.25.0\n\ngodebug default=go1.25\n\nrequire (\n'
        printf '\t%s\n' "k8s.io/kubernetes v$version" "github.com/coredns/coredns v$coredns_version" \
            "github.com/cloudnativelabs/kube-router/v2 v$kube_router_version"
        printf ')\n\nreplace (\n'
        awk -v v="v0.${version#1.}" '/=> \.\/staging/ { printf "\t%s => %s %s\n", $1, $1, v }' "$source/go.mod"
        printf ')\n'
    } >"$1/go.mod"
    {
        printf '//go:build tools\n\npackage cluster\n\nimport (\n'
        printf '%s\n' "${commands[@]}" | grep -v '^cluster/' | sed 's/.*/\t_ "&"/'
        printf ')\n'
    } >"$1/tools.go"
    mkdir "$1/coredns"
    # Only the plugins of a cluster's DNS: the cloud ones double the build.
    cat >"$1/coredns/main.go" <<'GO'
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	dnsserver.Directives = []string{"bind", "errors", "cache", "kubernetes"}
	coremain.Run()
}
GO
}

build_cluster() {
    local command name work stamp=k8s.io/component-base/version
    local -a missing=()
    for command in "${commands[@]}"; do [ -x "$bin/$(binary "$command")" ] || missing+=("$command"); done
    [ "${#missing[@]}" -gt 0 ] || return 0
    need_go
    say "compiling ${#missing[@]} programs of Kubernetes $version (all nine: 10 to 13 minutes on two cores, once a machine)"
    mkdir -p "$bin"
    work=$(mktemp -d)
    write_module "$work"
    (
        cd "$work"
        go mod tidy >go.log 2>&1 || { tail -n 20 go.log >&2; die 'go mod tidy failed'; }
        for command in "${missing[@]}"; do
            name=$(binary "$command")
            CGO_ENABLED=0 go build -trimpath -o "$bin/$name.new" -ldflags "-s -w -X $stamp.gitVersion=v$version \
                -X $stamp.gitMajor=1 -X $stamp.gitMinor=$(cut -d. -f2 <<<"$version")" "$command"
            mv "$bin/$name.new" "$bin/$name"
            say "  $name"
        done
    )
    rm -rf "$work"
}

# Custom resources that charts look for, generated or copied from their public Go modules.
build_crds() {
    [ ! -s "$crds/done" ] || return 0
    need_go
    say 'generating the Prometheus Operator and Gateway API resource definitions (about 3 minutes, once a machine)'
    mkdir -p "$crds"
    local work gateway; work=$(mktemp -d)
    (
        cd "$work"
        printf 'module crds\n\ngo 1.26.0\n' >go.mod
        printf '//go:build tools\n\npackage crds\n\nimport _ "%s/v1"\n' "$monitoring" >tools.go
        { go get -tool "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.20.1" && go get "$monitoring@v0.92.1" && go mod tidy; } \
            >go.log 2>&1 || { tail -n 20 go.log >&2; die 'fetching the resource definitions failed'; }
        go tool controller-gen crd:maxDescLen=0 "paths=$monitoring/v1" output:crd:dir="$work/out"
        cp out/monitoring.coreos.com_{servicemonitors,podmonitors,prometheusrules,probes}.yaml "$crds"
        gateway=$(go mod download -json sigs.k8s.io/gateway-api@v1.6.3 | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
        cp "$gateway"/config/crd/standard/gateway.networking.k8s.io_{gatewayclasses,gateways,httproutes,grpcroutes,referencegrants}.yaml "$crds"
    )
    chmod -R u+w "$crds"
    rm -rf "$work"
    date >"$crds/done"
}

# A module of its own: it is older than the cluster, and does not run when linked with the cluster's libraries.
build_metrics() {
    [ ! -x "$bin/metrics-server" ] || return 0
    need_go
    say 'compiling metrics-server (about 4 minutes, once a machine)'
    local work; work=$(mktemp -d)
    (
        cd "$work"
        printf 'module metrics\n\ngo 1.25.0\n' >go.mod
        go get -tool "sigs.k8s.io/metrics-server/cmd/metrics-server@v$metrics_server_version" >go.log 2>&1 || { tail -n 20 go.log >&2; die 'go get failed'; }
        CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$bin/metrics-server" sigs.k8s.io/metrics-server/cmd/metrics-server
    )
    rm -rf "$work"
}

case $1 in
    cluster) build_cluster ;;
    metrics) build_metrics ;;
    crds) build_crds ;;
    *) die "$1 is none of cluster, metrics and crds" ;;
esac
