# The cluster's node; sourced by scripts/cluster. It runs in a mount namespace and a network namespace that a sleeping
# process holds, so none of its mounts and rules is visible on this machine, and all are released with its last process.

pause_image=cluster.local/pause:1

install_packages() {
  local missing=() package
  for package in containerd runc containernetworking-plugins conntrack iptables iproute2 openssl curl; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ "${#missing[@]}" = 0 ] && return
  can_install || fail "the cluster needs these packages: ${missing[*]}"
  apt_install "${missing[@]}"
}

inside() { nsenter -t "$(process_of node)" -m -n "$@"; }
containers() { ctr -a "$cluster/node/containerd.sock" -n k8s.io "$@"; }
node_is_ready() { api /api/v1/nodes/node1 | tr -d ' \n' | grep '"reason":"KubeletReady"' >/dev/null; }

namespaces_up() {
  process_of node >/dev/null && return
  start node unshare -m -n --propagation private sh -c 'mount --make-rshared / && ip link set lo up && exec sleep infinity'
  wait_for 5 "the node's namespaces" inside ip link show lo up
  ip link del "$bridge-1" 2>/dev/null || true
  ip link add "$bridge-1" type veth peer name eth0 netns "$(process_of node)"
  ip link set "$bridge-1" master "$bridge" up
  inside ip address add "$node_address/24" dev eth0
  inside ip link set eth0 up
  inside ip route add default via "$control"
  ip route replace "$pods" via "$node_address"
  # The place of the provisioner's folders is compiled in.
  mkdir -p "$cluster/volumes" /tmp/hostpath_pv
  inside mount --bind "$cluster/volumes" /tmp/hostpath_pv
}

# containerd reads its network's configuration at every change, so the file must never be half written.
network_configuration() {
  local file=$cluster/node/cni/10-cluster.conflist
  mkdir -p "$(dirname "$file")"
  cat >"$cluster/node/cni.new" <<EOF
{"cniVersion": "0.4.0", "name": "cluster", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipam": {"type": "host-local",
    "dataDir": "$cluster/node/addresses", "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
  mv "$cluster/node/cni.new" "$file"
}

# Without CAP_SYS_RESOURCE nobody may lower an OOM score, and runc would fail with an unrelated message.
containerd_configuration() {
  cat <<EOF
version = 2
root = "$cluster/node/containerd"
state = "$cluster/node/state"
[grpc]
  address = "$cluster/node/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause_image"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$cluster/node/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
EOF
}

# Resizing of running pods is off: kubelet 1.34.4 without pod cgroups panics in it after a pod was force deleted.
# No cgroups outside those of its containers, no swap check and no eviction for space: it shares the machine with others.
kubelet_configuration() {
  cat <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_address
readOnlyPort: 0
healthzPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $cluster/keys/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $cluster/keys/node.crt
tlsPrivateKeyFile: $cluster/keys/node.key
containerRuntimeEndpoint: unix://$cluster/node/containerd.sock
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
oomScoreAdj: 0
resolvConf: ''
makeIPTablesUtilChains: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%}
nodeStatusUpdateFrequency: 5s
syncFrequency: 10s
maxPods: 200
featureGates: {InPlacePodVerticalScaling: false}
podLogsDir: $cluster/node/logs
volumePluginDir: $cluster/node/plugins
EOF
}

# An OCI archive of one layer, so that no registry and no Docker is needed.
pause_archive() {
  local root=$1 layer config manifest
  put() { local sum; sum=$(sha256sum "$1" | cut -d' ' -f1); mv "$1" "$root/blobs/sha256/$sum"; echo "$sum"; }
  mkdir -p "$root/tree" "$root/blobs/sha256"
  cp "$(programs)/pause" "$root/tree/"
  tar -C "$root/tree" --owner=0 --group=0 --numeric-owner --mtime=@0 -cf "$root/layer" .
  layer=$(put "$root/layer")
  local type=application/vnd.oci.image architecture=amd64
  [ "$(uname -m)" = x86_64 ] || architecture=arm64
  echo "{\"architecture\": \"$architecture\", \"os\": \"linux\", \"config\": {\"Entrypoint\": [\"/pause\"]}, \"rootfs\": {\"type\": \"layers\", \"diff_ids\": [\"sha256:$layer\"]}}" >"$root/config"
  local config_size layer_size
  config_size=$(stat -c %s "$root/config")
  layer_size=$(stat -c %s "$root/blobs/sha256/$layer")
  config=$(put "$root/config")
  echo "{\"schemaVersion\": 2, \"mediaType\": \"$type.manifest.v1+json\", \"config\": {\"mediaType\": \"$type.config.v1+json\", \"digest\": \"sha256:$config\", \"size\": $config_size}, \"layers\": [{\"mediaType\": \"$type.layer.v1.tar\", \"digest\": \"sha256:$layer\", \"size\": $layer_size}]}" >"$root/manifest"
  local manifest_size
  manifest_size=$(stat -c %s "$root/manifest")
  manifest=$(put "$root/manifest")
  echo "{\"schemaVersion\": 2, \"manifests\": [{\"mediaType\": \"$type.manifest.v1+json\", \"digest\": \"sha256:$manifest\", \"size\": $manifest_size, \"annotations\": {\"io.containerd.image.name\": \"$pause_image\"}}]}" >"$root/index.json"
  echo '{"imageLayoutVersion": "1.0.0"}' >"$root/oci-layout"
  tar -C "$root" -cf "$root/pause.tar" oci-layout index.json blobs
}

import_pause() {
  containers images ls -q | grep -x "$pause_image" >/dev/null && return
  local root
  root=$(mktemp -d)
  pause_archive "$root"
  containers images import "$root/pause.tar" >/dev/null
  rm -rf "$root"
}

node_up() {
  local node=$cluster/node
  mkdir -p "$node/kubelet"
  network_configuration
  containerd_configuration >"$node/containerd.toml"
  kubelet_configuration >"$node/kubelet.yaml"
  start containerd nsenter -t "$(process_of node)" -m -n containerd --config "$node/containerd.toml"
  wait_for 20 containerd containers version
  import_pause
  start kubelet nsenter -t "$(process_of node)" -m -n "$(programs)/kubelet" --config="$node/kubelet.yaml" \
    --kubeconfig="$cluster/node.conf" --hostname-override=node1 --node-ip="$node_address" --root-dir="$node/kubelet" \
    --cert-dir="$node/kubelet/keys"
}

# Also when containerd no longer runs: everything in the node's mount namespace is killed, and the namespace goes with it.
node_down() {
  local task namespace process
  stop kubelet
  for task in $(timeout 10 ctr -a "$cluster/node/containerd.sock" -n k8s.io tasks ls -q 2>/dev/null); do
    timeout 10 ctr -a "$cluster/node/containerd.sock" -n k8s.io tasks rm -f "$task" >/dev/null 2>&1 || true
  done
  stop containerd
  local state
  for state in "$cluster"/node/state/io.containerd.runtime.v2.task/k8s.io/*/init.pid; do
    [ -f "$state" ] || continue
    process=$(cat "$state")
    if grep -q "$(basename "$(dirname "$state")")" "/proc/$process/cgroup" 2>/dev/null; then kill -9 "$process" || true; fi
  done
  if process_of node >/dev/null; then
    namespace=$(readlink "/proc/$(process_of node)/ns/mnt")
    for process in /proc/[0-9]*; do
      [ "$(readlink "$process/ns/mnt" 2>/dev/null || true)" = "$namespace" ] || continue
      [ "${process#/proc/}" = "$(process_of node)" ] || kill -9 "${process#/proc/}" 2>/dev/null || true
    done
    stop node KILL
  fi
  ip link del "$bridge-1" 2>/dev/null || true
  ip route del "$pods" 2>/dev/null || true
  # Only where empty.
  rmdir /tmp/hostpath_pv 2>/dev/null || true
  rmdir /sys/fs/cgroup/*/k8s.io /sys/fs/cgroup/k8s.io 2>/dev/null || true
}
