#!/usr/bin/env bash
#
# kubernetes.sh - a real single-node Kubernetes on a machine that can pull no image and has no init
# system, for the tests in tests/cluster and to try the chart on.
#
#   kubernetes.sh up               build what is missing, start what is not running, wait until the node is Ready
#   kubernetes.sh load IMAGE...    copy images of the Docker engine into the cluster's containerd
#   kubernetes.sh crds [LABEL=V]   add the Prometheus Operator's and the Gateway API's resource definitions,
#                                  with a label to know them by
#   kubernetes.sh metrics          add the resource metrics API (kubectl top, autoscaling)
#   kubernetes.sh status           one line a component; fails unless all that `up` starts run
#   kubernetes.sh down             stop it and delete its data (the programs stay)
#
# Its programs are compiled by kubernetes-programs.sh from their public Go modules and kept; containerd,
# runc and the CNI plugins are Debian's. Idempotent. Run as root, after ensure-docker.sh. `up` prints
# the path of the kubeconfig, and puts kubectl on the PATH where there is none:
#
#   export KUBECONFIG=$(deploy/offline/kubernetes.sh up)
#
#   COMMONHOLD_KUBE_CACHE    the programs             (default ~/.cache/commonhold-kube)
#   COMMONHOLD_KUBE_DIR      state and logs           (default /var/lib/commonhold-kube)
#   COMMONHOLD_KUBE_VERSION  Kubernetes               (default 1.35.4)

set -euo pipefail
programs=$(dirname "$(realpath "$0")")/kubernetes-programs.sh

version=${COMMONHOLD_KUBE_VERSION:-1.35.4}
cache=${COMMONHOLD_KUBE_CACHE:-$HOME/.cache/commonhold-kube}
bin=$cache/$version/bin
crds=$cache/$version/crds
dir=${COMMONHOLD_KUBE_DIR:-/var/lib/commonhold-kube}
pki=$dir/pki
kubeconfig=$dir/admin.kubeconfig
containerd_socket=$dir/containerd.sock
bridge=ckube0
node_ip=10.244.0.1          # the bridge's own address: node, API server and DNS
pod_cidr=10.244.0.0/24
service_cidr=10.96.0.0/16
node=commonhold

say() { printf 'kubernetes: %s\n' "$*" >&2; }
die() { printf 'kubernetes: error: %s\n' "$*" >&2; exit 1; }

install_parts() {
    local -a packages=()
    command -v containerd >/dev/null || packages+=(containerd)
    command -v runc >/dev/null || packages+=(runc)
    [ -x /usr/lib/cni/bridge ] || packages+=(containernetworking-plugins)
    command -v conntrack >/dev/null || packages+=(conntrack)
    command -v iptables >/dev/null || packages+=(iptables)
    command -v ipset >/dev/null || packages+=(ipset)
    command -v openssl >/dev/null || packages+=(openssl)
    command -v gcc >/dev/null || packages+=(gcc libc6-dev)
    [ "${#packages[@]}" -gt 0 ] || return 0
    say "installing ${packages[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}

ca() {  # ca NAME COMMON-NAME
    [ -s "$pki/$1.crt" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=$2" \
        -keyout "$pki/$1.key" -out "$pki/$1.crt" 2>/dev/null
}

certificate() {  # certificate CA NAME SUBJECT [SUBJECT-ALT-NAME]
    [ ! -s "$pki/$2.crt" ] || return 0
    local extension="extendedKeyUsage=clientAuth,serverAuth"
    [ -z "${4:-}" ] || extension+=$'\n'"subjectAltName=$4"
    openssl req -newkey rsa:2048 -nodes -subj "$3" -keyout "$pki/$2.key" -out "$pki/$2.csr" 2>/dev/null
    openssl x509 -req -in "$pki/$2.csr" -CA "$pki/$1.crt" -CAkey "$pki/$1.key" -CAcreateserial -days 30 \
        -extfile <(printf '%s\n' "$extension") -out "$pki/$2.crt" 2>/dev/null
}

client_config() {  # client_config NAME FILE
    cat >"$2" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: commonhold, cluster: {server: "https://$node_ip:6443", certificate-authority: $pki/ca.crt}}]
users: [{name: $1, user: {client-certificate: $pki/$1.crt, client-key: $pki/$1.key}}]
contexts: [{name: $1, context: {cluster: commonhold, user: $1}}]
current-context: $1
YAML
    chmod 600 "$2"
}

make_keys() {
    mkdir -p "$pki"; chmod 700 "$pki"
    ca ca commonhold-kube
    ca front-proxy-ca commonhold-front-proxy
    [ -s "$pki/sa.key" ] || { openssl genrsa -out "$pki/sa.key" 2048 2>/dev/null; openssl rsa -in "$pki/sa.key" -pubout -out "$pki/sa.pub" 2>/dev/null; }
    certificate ca apiserver /CN=kube-apiserver \
        "IP:127.0.0.1,IP:$node_ip,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
    certificate ca apiserver-kubelet /O=system:masters/CN=kube-apiserver-kubelet
    certificate front-proxy-ca front-proxy /CN=front-proxy-client
    certificate ca admin /O=system:masters/CN=admin
    certificate ca controller-manager /CN=system:kube-controller-manager
    certificate ca scheduler /CN=system:kube-scheduler
    certificate ca kubelet "/O=system:nodes/CN=system:node:$node" "IP:$node_ip,DNS:$node"
    certificate ca proxy /CN=system:kube-proxy
    local name
    for name in admin controller-manager scheduler kubelet proxy; do client_config "$name" "$dir/$name.kubeconfig"; done
}

running() { [ -s "$dir/$1.pid" ] && kill -0 "$(<"$dir/$1.pid")" 2>/dev/null && grep -qsa -- "$1" "/proc/$(<"$dir/$1.pid")/cmdline"; }

start() {  # start NAME COMMAND...
    local name=$1; shift
    running "$name" && return
    nohup setsid "$@" >>"$dir/$name.log" 2>&1 </dev/null &
    echo $! >"$dir/$name.pid"
}

wait_for() {  # wait_for SECONDS WHAT COMMAND...
    local deadline=$((SECONDS + $1)) what=$2; shift 2
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || { tail -n 5 "$dir"/*.log >&2; die "$what: not ready in time"; }
        sleep 0.3
    done
}

kubectl() { "$bin/kubectl" --kubeconfig "$kubeconfig" "$@"; }
ctr() { command ctr --address "$containerd_socket" --namespace k8s.io "$@"; }

start_network() {
    sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true
    ip link show "$bridge" >/dev/null 2>&1 || ip link add "$bridge" type bridge
    [[ $(ip addr show dev "$bridge") == *" $node_ip/"* ]] || ip addr add "$node_ip/24" dev "$bridge"
    ip link set "$bridge" up
    # A service address that nothing answers for must not leave this machine.
    ip route replace "$service_cidr" dev "$bridge"
    # Docker sets the FORWARD policy to DROP.
    iptables -C FORWARD -s "$pod_cidr" -j ACCEPT 2>/dev/null || iptables -I FORWARD -s "$pod_cidr" -j ACCEPT
    iptables -C FORWARD -d "$pod_cidr" -j ACCEPT 2>/dev/null || iptables -I FORWARD -d "$pod_cidr" -j ACCEPT
    mkdir -p "$dir/cni"
    cat >"$dir/cni/10-commonhold.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "commonhold", "plugins": [
  {"type": "bridge", "bridge": "$bridge", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$pod_cidr", "rangeStart": "10.244.0.10"}]],
            "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "$dir/cni-state"}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
}

start_containerd() {
    cat >"$dir/containerd.toml" <<TOML
version = 2
root = "$dir/containerd"
state = "$dir/containerd-state"
[grpc]
  address = "$containerd_socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "commonhold.local/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/cni"
TOML
    start containerd containerd --config "$dir/containerd.toml"
    wait_for 30 containerd ctr version
    [ -n "$(ctr images list -q name==commonhold.local/pause:1)" ] || make_pause_image
}

make_pause_image() {
    local work; work=$(mktemp -d)
    printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' | gcc -static -Os -s -x c -o "$work/pause" -
    printf 'FROM scratch\nCOPY pause /pause\nUSER 65535:65535\nENTRYPOINT ["/pause"]\n' >"$work/Dockerfile"
    DOCKER_BUILDKIT=0 docker build -q -t commonhold.local/pause:1 "$work" >/dev/null 2>&1
    docker save commonhold.local/pause:1 | ctr images import - >/dev/null
    rm -rf "$work"
}

start_control_plane() {
    start etcd "$bin/etcd" --name "$node" --data-dir "$dir/etcd" --log-level warn --unsafe-no-fsync \
        --listen-client-urls http://127.0.0.1:23790 --advertise-client-urls http://127.0.0.1:23790 \
        --listen-peer-urls http://127.0.0.1:23800 --initial-advertise-peer-urls http://127.0.0.1:23800 \
        --initial-cluster "$node=http://127.0.0.1:23800"
    start kube-apiserver "$bin/kube-apiserver" --etcd-servers http://127.0.0.1:23790 \
        --bind-address 0.0.0.0 --advertise-address "$node_ip" --secure-port 6443 --allow-privileged=true \
        --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
        --service-cluster-ip-range "$service_cidr" --service-node-port-range 30000-30999 \
        --client-ca-file "$pki/ca.crt" --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
        --kubelet-client-certificate "$pki/apiserver-kubelet.crt" --kubelet-client-key "$pki/apiserver-kubelet.key" \
        --kubelet-preferred-address-types InternalIP \
        --service-account-key-file "$pki/sa.pub" --service-account-signing-key-file "$pki/sa.key" \
        --service-account-issuer https://kubernetes.default.svc.cluster.local \
        --requestheader-client-ca-file "$pki/front-proxy-ca.crt" --requestheader-allowed-names front-proxy-client \
        --requestheader-extra-headers-prefix X-Remote-Extra- --requestheader-group-headers X-Remote-Group \
        --requestheader-username-headers X-Remote-User --enable-aggregator-routing=true \
        --proxy-client-cert-file "$pki/front-proxy.crt" --proxy-client-key-file "$pki/front-proxy.key"
    wait_for 90 kube-apiserver kubectl get --raw /readyz
    start kube-controller-manager "$bin/kube-controller-manager" --kubeconfig "$dir/controller-manager.kubeconfig" \
        --bind-address 127.0.0.1 --leader-elect=false --use-service-account-credentials=true \
        --service-account-private-key-file "$pki/sa.key" --root-ca-file "$pki/ca.crt" \
        --cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key"
    start kube-scheduler "$bin/kube-scheduler" --kubeconfig "$dir/scheduler.kubeconfig" --bind-address 127.0.0.1 --leader-elect=false
}

start_node() {
    cat >"$dir/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_ip
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/kubelet.crt
tlsPrivateKeyFile: $pki/kubelet.key
containerRuntimeEndpoint: unix://$containerd_socket
cgroupDriver: cgroupfs
cgroupRoot: /
failCgroupV1: false
failSwapOn: false
clusterDNS: [$node_ip]
clusterDomain: cluster.local
resolvConf: ""
healthzBindAddress: 127.0.0.1
maxOpenFiles: 20000
oomScoreAdj: 0
staticPodPath: ""
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
shutdownGracePeriod: 0s
YAML
    start kubelet "$bin/kubelet" --config "$dir/kubelet.yaml" --kubeconfig "$dir/kubelet.kubeconfig" \
        --root-dir "$dir/kubelet" --cert-dir "$dir/kubelet-pki" --hostname-override "$node" --node-ip "$node_ip"
    # kube-proxy ends when its file is written again.
    running kube-proxy || cat >"$dir/proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $dir/proxy.kubeconfig}
hostnameOverride: $node
mode: iptables
clusterCIDR: $pod_cidr
oomScoreAdj: 0
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
YAML
    start kube-proxy "$bin/kube-proxy" --config "$dir/proxy.yaml"
    cat >"$dir/Corefile" <<CORE
.:53 {
    bind $node_ip
    errors
    cache 5
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig $kubeconfig
        pods insecure
        ttl 5
    }
}
CORE
    start coredns "$bin/coredns" -conf "$dir/Corefile"
    wait_for 90 node kubectl wait --for=condition=Ready --timeout=1s "node/$node"
    # Enforces NetworkPolicy; kube-proxy does the services, the bridge plugin the pod network.
    start kube-router "$bin/kube-router" --kubeconfig "$kubeconfig" --hostname-override "$node" \
        --run-firewall=true --run-router=false --run-service-proxy=false --iptables-sync-period 30s \
        --service-cluster-ip-range "$service_cidr" --service-node-port-range 30000-30999
    wait_for 60 'default service account' kubectl get serviceaccount default
}

# A default storage class and thirty volumes of 5 Gi on the node's disk: there is no provisioner.
add_volumes() {
    local i
    {
        printf '%s\n' 'apiVersion: storage.k8s.io/v1' 'kind: StorageClass' \
            'metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}' \
            'provisioner: kubernetes.io/no-provisioner' 'volumeBindingMode: WaitForFirstConsumer'
        for i in $(seq 30); do
            mkdir -p "$dir/volumes/$i" && chmod 777 "$dir/volumes/$i"
            printf '%s\n' --- 'apiVersion: v1' 'kind: PersistentVolume' "metadata: {name: volume-$i}" \
                "spec: {storageClassName: standard, capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], hostPath: {path: $dir/volumes/$i}}"
        done
    } | kubectl apply --server-side -f - >/dev/null
}

# To the cluster of KUBECONFIG, where that names one.
add_crds() {  # add_crds [LABEL=VALUE]
    command kubectl label --local --output json --filename "$crds" "${1:-commonhold.example/made-by=hand}" |
        command kubectl --kubeconfig "${KUBECONFIG:-$kubeconfig}" apply --server-side --filename - >/dev/null
}

start_metrics() {
    start metrics-server "$bin/metrics-server" --kubeconfig "$kubeconfig" --authentication-kubeconfig "$kubeconfig" \
        --authorization-kubeconfig "$kubeconfig" --bind-address "$node_ip" --secure-port 4443 --cert-dir "$dir/metrics-server-pki" \
        --kubelet-certificate-authority "$pki/ca.crt" --kubelet-preferred-address-types InternalIP --metric-resolution 15s
    kubectl apply --server-side --force-conflicts -f - >/dev/null <<YAML
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {ports: [{name: https, port: 443, targetPort: 4443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: metrics-server-1, namespace: kube-system, labels: {kubernetes.io/service-name: metrics-server}}
addressType: IPv4
ports: [{name: https, port: 4443}]
endpoints: [{addresses: [$node_ip], conditions: {ready: true}}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: metrics-server, namespace: kube-system}
YAML
    wait_for 90 'metrics API' kubectl top node
}

up() {
    [ "$(id -u)" = 0 ] || die 'must be root'
    docker version >/dev/null 2>&1 || die 'no Docker engine answers (see ensure-docker.sh)'
    install_parts
    "$programs" cluster "$version" "$cache/$version"
    mkdir -p "$dir"
    make_keys
    start_network
    start_containerd
    start_control_plane
    start_node
    add_volumes
    command -v kubectl >/dev/null || ln -sf "$bin/kubectl" /usr/local/bin/kubectl
    say "ready: Kubernetes $version, node $node"
    printf '%s\n' "$kubeconfig"
}

load() {
    local image
    for image; do docker save "$image" | ctr images import - >/dev/null; done
}

components=(metrics-server kube-router coredns kube-proxy kubelet kube-scheduler kube-controller-manager kube-apiserver etcd containerd)

status() {
    local name down=0
    for name in "${components[@]}"; do
        if running "$name"; then echo "$name up"; continue; fi
        echo "$name down"
        [ "$name" = metrics-server ] || down=1
    done
    return "$down"
}

down() {
    local name
    if running kube-apiserver; then
        timeout 60 "$bin/kubectl" --kubeconfig "$kubeconfig" delete pods --all --all-namespaces --grace-period=1 >/dev/null 2>&1 || true
    fi
    for name in "${components[@]}"; do
        [ "$name" != containerd ] || stop_containers
        running "$name" || continue
        kill -9 "$(<"$dir/$name.pid")" 2>/dev/null || true      # nothing of theirs is kept
    done
    awk -v d="$dir/" 'index($2, d) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l 2>/dev/null || true
    ip link del "$bridge" 2>/dev/null || true
    rm -rf "$dir"
}

stop_containers() {
    local container
    running containerd || return 0
    for container in $(ctr tasks list -q 2>/dev/null); do ctr tasks kill -s KILL "$container" 2>/dev/null || true; done
    sleep 0.5
    for container in $(ctr tasks list -q 2>/dev/null); do ctr tasks delete -f "$container" >/dev/null 2>&1 || true; done
}

case ${1:-} in
    up) up ;;
    load) shift; load "$@" ;;
    crds) "$programs" crds "$version" "$cache/$version"; shift; add_crds "$@" ;;
    metrics) "$programs" metrics "$version" "$cache/$version"; start_metrics ;;
    status) status ;;
    down) down ;;
    *) sed -n '2,/^$/{s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
esac
