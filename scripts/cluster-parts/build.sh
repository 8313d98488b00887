# Builds the cluster's programs; sourced by scripts/cluster.

# The newest version that runs on containerd 1.6 and cgroup v1 without further settings.
kubernetes_version=1.34.4
etcd_version=3.6.4
# Modules that the main module replaces by its own folders, and every other module must therefore replace as well.
staging="api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap
  code-generator component-base component-helpers controller-manager cri-api cri-client csi-translation-lib
  dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy
  kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver"

programs() {
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/workspace/cluster/$kubernetes_version-$etcd_version-$(uname -m)-$(hash_of scripts/cluster-parts/kubernetes.go | cut -c1-12)"
}

module() {
  local name
  printf 'module cluster\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v%s\nrequire go.etcd.io/etcd/server/v3 v%s\n' "$kubernetes_version" "$etcd_version"
  for name in $staging; do echo "replace k8s.io/$name => k8s.io/$name v0.${kubernetes_version#1.}"; done
}

build() {
  local target source version=k8s.io/component-base/version
  target=$(programs)
  [ -x "$target/kubelet" ] && return
  command -v go >/dev/null || fail "the cluster's programs are built with Go 1.24 or newer: https://go.dev/dl"
  mkdir -p "$(dirname "$target")"
  exec 9>"$target.lock"
  flock 9
  [ -x "$target/kubelet" ] && return
  source=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$source'" EXIT
  module >"$source/go.mod"
  cp "$parts/kubernetes.go" "$source/main.go"
  report "building Kubernetes $kubernetes_version in $target (20 minutes on two cores, once)"
  (
    cd "$source"
    export GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=1
    go mod tidy 2>&1 | progress "modules"
    go build -v -trimpath -ldflags "-s -w -X $version.gitVersion=v$kubernetes_version -X $version.gitMajor=1 -X $version.gitMinor=$(echo "$kubernetes_version" | cut -d. -f2)" -o "$source/kubernetes" . 2>&1 | progress "packages"
  )
  rm -rf "$target.new"
  mkdir "$target.new"
  cp "$source/kubernetes" "$target.new/"
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet; do ln -s kubernetes "$target.new/$name"; done
  gcc -Os -static -s -o "$target.new/pause" "$parts/pause.c"
  rm -rf "$target"
  mv "$target.new" "$target"
  rm -rf "$source"
  trap - EXIT
}

# Reports every hundredth line of a long output, and its end if that may be an error.
progress() { awk -v what="$1" '{ last = $0 } NR % 100 == 0 { print "setup:   " NR " " what; fflush() } END { if (NR % 100) print "setup:   " NR " " what ": " last }'; }
