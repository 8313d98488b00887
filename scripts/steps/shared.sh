# Shared by set-up, build and base-image; sourced, not run.

say() { echo "setup: $*"; }

on_node() { scripts/on-node "$@"; }

# One word for the bytes and names of all files under the given paths; absent paths count as empty.
hash_of() {
  local sum=sha256sum
  command -v sha256sum >/dev/null || sum='shasum -a 256'
  { find "$@" -type f 2>/dev/null || true; } | LC_ALL=C sort | tr '\n' '\0' | xargs -0 $sum /dev/null | $sum | cut -c1-64
}

is_stamped() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# Stamps are written last, so that an interrupted step is done again.
stamp() { printf '%s\n' "$2" >"$1"; }

# Runs a command with its output put by, and shows the end of it when the command fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  [ "$status" = 0 ] || tail -n 15 "$log" | sed 's/^/    /' >&2
  rm -f "$log"
  return "$status"
}

# Whether this user may add system packages without being asked anything.
can_install() { [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; }

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@"; }

# Package lists may be absent or so old that what they name is gone, and renewing them takes seconds: only when needed.
renew_and_install() { apt_get install -y --no-install-recommends "$@" || { apt_get update && apt_get install -y --no-install-recommends "$@"; }; }

apt_install() {
  say "installing $* (apt-get)"
  # Two steps may want to at once, and only one may renew the lists.
  (flock 9 && quietly renew_and_install "$@") 9</var/lib/apt
}
