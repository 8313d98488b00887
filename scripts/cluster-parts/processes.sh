# Starts and stops the cluster's processes; sourced by scripts/cluster.

fail() { echo "cluster: $*" >&2; exit 1; }

# A process id may be reused, so it is recorded with the time at which its process began.
began() { cut -d' ' -f22 "/proc/$1/stat" 2>/dev/null || true; }

# Prints the id of a process that this script started, if it still runs.
process_of() {
  local id time
  { read -r id time <"$cluster/run/$1"; } 2>/dev/null || return 1
  [ -n "$time" ] && [ "$(began "$id")" = "$time" ] && ! grep -q ') Z ' "/proc/$id/stat" && echo "$id"
}

# start NAME COMMAND…: unless it runs already.
start() {
  local name=$1
  shift
  process_of "$name" >/dev/null && return
  # Descriptor 8 is the lock of this script, which must not outlive it.
  (cd "$cluster" && exec setsid "$@") >>"$cluster/log/$name.log" 2>&1 </dev/null 8>&- &
  echo "$! $(began $!)" >"$cluster/run/$name"
}

# stop NAME [SIGNAL]: waits until it has exited, and kills it after 10 seconds.
stop() {
  local id tries
  id=$(process_of "$1") || return 0
  kill -s "${2:-TERM}" "$id" 2>/dev/null || true
  for tries in $(seq 100); do
    process_of "$1" >/dev/null || return 0
    sleep 0.1
  done
  kill -s KILL "$id" 2>/dev/null || true
}

# wait_for SECONDS WHAT COMMAND…
wait_for() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "$what is not ready; see $cluster/log"
    sleep 0.1
  done
}
