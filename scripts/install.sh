# Shared by set-up and base-image; sourced, not run.

say() { echo "setup: $*"; }

# Whether this user may add system packages without being asked anything.
can_install() { [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; }

# Package lists may be absent or so old that what they name is gone: the second try renews them.
apt_install() {
  say "installing $* (apt-get)"
  local log status=0
  log=$(mktemp)
  apt_get install -y --no-install-recommends "$@" >"$log" 2>&1 </dev/null ||
    { apt_get update && apt_get install -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null || status=$?
  [ "$status" = 0 ] || say "apt-get failed: $(grep '^E:' "$log" | tail -n 1)"
  rm -f "$log"
  return "$status"
}

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@"; }
