# Shared by set-up, build and base-image; sourced, not run.

report() { echo "setup: $*"; }

on_node() { scripts/on-node "$@"; }

# Prints one hash of the bytes and names of all files below the given paths; missing paths count as empty.
hash_of() {
  local sum=sha256sum
  command -v sha256sum >/dev/null || sum='shasum -a 256'
  { find "$@" -type f 2>/dev/null || true; } | LC_ALL=C sort | tr '\n' '\0' | xargs -0 $sum /dev/null | $sum | cut -c1-64
}

is_stamped() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# Stamps are written last, so that an interrupted step is repeated.
stamp() { printf '%s\n' "$2" >"$1"; }

# Runs a command and shows the end of its output only if it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  [ "$status" = 0 ] || tail -n 15 "$log" | sed 's/^/    /' >&2
  rm -f "$log"
  return "$status"
}

# Whether this user may install system packages without a prompt.
can_install() { [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; }

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@"; }

# Package lists may be missing or outdated. Updating them takes seconds, so that happens only when needed.
renew_and_install() { apt_get install -y --no-install-recommends "$@" || { apt_get update && apt_get install -y --no-install-recommends "$@"; }; }

apt_install() {
  report "installing $* (apt-get)"
  # Two steps may install at the same time, but only one may update the lists.
  (flock 9 && quietly renew_and_install "$@") 9</var/lib/apt
}
