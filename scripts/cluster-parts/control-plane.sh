# Keys and control plane of the cluster; sourced by scripts/cluster. The control plane runs in this machine's network
# namespace, on the address of a bridge to which the node is connected.

network=10.88
control=$network.200.254
node_address=$network.200.1
pods=$network.1.0/24
bridge=ws-cluster
etcd_url=http://127.0.0.1:62379

api() {
  local path=$1
  shift
  curl -sf --max-time 10 --cacert "$cluster/keys/ca.crt" --cert "$cluster/keys/admin.crt" --key "$cluster/keys/admin.key" "https://$control:6443$path" "$@"
}

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# certificate NAME SUBJECT [ALTERNATIVE_NAMES]
certificate() {
  [ -f "$1.crt" ] && return
  new_key "$1"
  openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -out "$1.crt" 2>/dev/null \
    -extfile <(printf 'extendedKeyUsage=clientAuth,serverAuth\nkeyUsage=critical,digitalSignature\n%s' "${3:+subjectAltName=$3}")
}

kubeconfig() {
  cat >"$cluster/$1.conf" <<EOF
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: $1}}]
clusters: [{name: test, cluster: {server: 'https://$control:6443', certificate-authority-data: $(base64 -w0 ca.crt)}}]
users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}}]
EOF
  chmod 600 "$cluster/$1.conf"
}

keys_up() (
  cd "$cluster/keys"
  umask 077
  if [ ! -f ca.crt ]; then
    new_key ca
    openssl req -x509 -new -key ca.key -subj /CN=test-cluster -days 3650 -out ca.crt -addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign,cRLSign
  fi
  [ -f accounts.key ] || openssl genrsa -out accounts.key 2048 2>/dev/null
  [ -f accounts.pub ] || openssl rsa -in accounts.key -pubout -out accounts.pub 2>/dev/null
  certificate apiserver /CN=kube-apiserver "IP:$control,IP:127.0.0.1,IP:10.96.0.1"
  certificate admin /O=system:masters/CN=admin
  certificate controllers /CN=system:kube-controller-manager
  certificate scheduler /CN=system:kube-scheduler
  certificate node /O=system:nodes/CN=system:node:node1 "IP:$node_address,DNS:node1"
  for name in admin controllers scheduler node; do kubeconfig "$name"; done
)

rule() { iptables -C FORWARD "$@" 2>/dev/null || iptables -I FORWARD "$@"; }

# Nothing sent to or from an address of the cluster may leave by this machine's default route, not even while the node
# does not run: hence the rejecting rule and the unreachable route. Docker drops forwarded packets, hence the other rule.
bridge_up() {
  ip link show "$bridge" >/dev/null 2>&1 || ip link add "$bridge" type bridge
  # Not grep -q: it exits at the first match, and the failed write of the other program would count.
  ip address show "$bridge" | grep "$control/" >/dev/null || ip address add "$control/24" dev "$bridge"
  ip link set "$bridge" up
  rule -i "$bridge" ! -o "$bridge" -j REJECT
  rule -i "$bridge" -o "$bridge" -j ACCEPT
  ip route replace unreachable "$network.0.0/16"
}

control_plane_up() {
  local programs keys=$cluster/keys
  programs=$(programs)
  keys_up
  start etcd "$programs/etcd" --data-dir "$cluster/etcd" --unsafe-no-fsync --listen-client-urls "$etcd_url" \
    --advertise-client-urls "$etcd_url" --listen-peer-urls http://127.0.0.1:0 --log-level warn
  # Both read nothing for half a minute when a starting API server refuses them, because it has no roles yet.
  process_of apiserver >/dev/null || for name in controllers scheduler; do stop "$name" KILL; done
  start apiserver "$programs/kube-apiserver" --etcd-servers="$etcd_url" --bind-address="$control" \
    --advertise-address="$control" --secure-port=6443 --endpoint-reconciler-type=none \
    --service-cluster-ip-range=10.96.0.0/16 --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --client-ca-file="$keys/ca.crt" --tls-cert-file="$keys/apiserver.crt" --tls-private-key-file="$keys/apiserver.key" \
    --cert-dir="$cluster/run" --service-account-key-file="$keys/accounts.pub" \
    --service-account-signing-key-file="$keys/accounts.key" --service-account-issuer=https://kubernetes.default.svc \
    --kubelet-client-certificate="$keys/admin.crt" --kubelet-client-key="$keys/admin.key" \
    --kubelet-certificate-authority="$keys/ca.crt" --kubelet-preferred-address-types=InternalIP
  wait_for 90 "the API server" api /readyz
  # The provisioner of folders makes volumes without a driver, where the node's mount namespace has the cluster's own.
  start controllers nsenter -t "$(process_of node)" -m "$programs/kube-controller-manager" --kubeconfig="$cluster/controllers.conf" \
    --use-service-account-credentials --service-account-private-key-file="$keys/accounts.key" \
    --root-ca-file="$keys/ca.crt" --enable-hostpath-provisioner --leader-elect=false --bind-address=127.0.0.1 \
    --secure-port=61257 --cert-dir="$cluster/run"
  start scheduler "$programs/kube-scheduler" --kubeconfig="$cluster/scheduler.conf" --leader-elect=false \
    --bind-address=127.0.0.1 --secure-port=61259 --cert-dir="$cluster/run"
  api /apis/storage.k8s.io/v1/storageclasses/standard >/dev/null || api /apis/storage.k8s.io/v1/storageclasses \
    -H 'content-type: application/json' -d '{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
      "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
      "provisioner": "kubernetes.io/host-path"}' >/dev/null
}

control_plane_down() {
  local name
  for name in scheduler controllers apiserver; do stop "$name" KILL; done
  stop etcd
  iptables -D FORWARD -i "$bridge" ! -o "$bridge" -j REJECT 2>/dev/null || true
  iptables -D FORWARD -i "$bridge" -o "$bridge" -j ACCEPT 2>/dev/null || true
  ip route del unreachable "$network.0.0/16" 2>/dev/null || true
  ip link del "$bridge" 2>/dev/null || true
}
