# Runs test suites and sums them up. For bash scripts in the package's root: . scripts/steps/suites.sh
# Every suite runs, even if one before it fails. Logs and vitest's reports are kept in reports/. Each process, container,
# mount, file and so on that a suite leaves behind is a failure; see scripts/leftovers.ts.

reports=reports
# Whether new containers, mounts and so on must be the suite's, because nothing else runs on this machine.
alone=yes
# Time in which what a suite ended or removed last may disappear.
settle_seconds=15
sums=$(mktemp -d)
suite_pid=
suite_tmp=
trap 'rm -rf "$sums"' EXIT
# On a signal no suite continues without its script.
trap 'end_suite; exit 130' INT
trap 'end_suite; exit 143' TERM HUP
: >"$sums/table" >"$sums/failures" >"$sums/flaky"

# suite NAME MINUTES COMMAND…: COMMAND is ended after MINUTES. Its last line is "N passed, N failed[, N skipped]"; a suite
# without one has failed.
suite() {
  local name=$1 passed=0 failed=0 skipped=0 began=$SECONDS status
  run_logged "$@"
  status=$?
  if [[ $(tail -n 1 "$reports/$name.log") =~ ^([0-9]+)' passed, '([0-9]+)' failed'(', '([0-9]+)' skipped')?$ ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[4]:-0}
  fi
  if [ $((passed + failed)) = 0 ]; then
    failed=1
    echo "FAILED $name: ran nothing; it ended with status $status" >>"$sums/failures"
  elif [ "$status" != 0 ] && [ "$failed" = 0 ]; then
    # For example by its time limit, or by an error outside of its tests.
    failed=1
    echo "FAILED $name: ended with status $status" >>"$sums/failures"
  fi
  # A failure is followed by its first lines.
  grep -a -A 12 '^FAILED ' "$reports/$name.log" | cut -c 1-500 >>"$sums/failures"
  grep -a '^flaky: ' "$reports/$name.log" >>"$sums/flaky"
  failed=$((failed + $(count_leftovers "$name")))
  add_row "$name" "$passed" "$failed" "$skipped" "$began"
}

# step NAME MINUTES COMMAND…: a command that counts as one test.
step() {
  local passed=1 failed=0 began=$SECONDS
  run_logged "$@" || {
    echo "FAILED $1: ended with status $?" >>"$sums/failures"
    tail -n 12 "$reports/$1.log" >>"$sums/failures"
    passed=0 failed=1
  }
  failed=$((failed + $(count_leftovers "$1")))
  add_row "$1" "$passed" "$failed" 0 "$began"
}

# set_up MINUTES COMMAND…: counts as one test. What it starts stays, such as dockerd.
set_up() {
  local passed=1 failed=0 began=$SECONDS log=$reports/set-up.log status
  echo "== set-up"
  mkdir -p "$reports"
  timeout --kill-after=30s "$1m" "${@:2}" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  if [ "$status" != 0 ]; then
    echo "FAILED set-up: ended with status $status" >>"$sums/failures"
    tail -n 12 "$log" >>"$sums/failures"
    passed=0 failed=1
  fi
  add_row set-up "$passed" "$failed" 0 "$began"
}

# vitest_suite NAME MINUTES once|again COMMAND… [--files FILE…]: a suite of vitest; with "again", files that fail run
# again, alone (see scripts/run-vitest.ts). Keeps reports/NAME.json.
vitest_suite() {
  suite "$1" "$2" scripts/on-node node scripts/run-vitest.ts "$reports/$1.json" "${@:3}"
}

run_logged() {
  local name=$1 minutes=$2 log=$reports/$1.log shown status
  shift 2
  echo "== $name"
  mkdir -p "$reports"
  # The directory marks what the suite starts. Like /tmp it is for every user, because tests change theirs.
  suite_tmp=$(mktemp -d "${TMPDIR:-/tmp}/suite.XXXXXX")
  chmod 1777 "$suite_tmp"
  [ "$alone" = no ] || scripts/on-node node scripts/leftovers.ts objects >"$sums/objects"
  : >"$log"
  # Job control leaves interrupts to the suite, which may start programs that need them.
  set -m
  TMPDIR=$suite_tmp timeout --kill-after=30s "${minutes}m" "$@" >"$log" 2>&1 &
  suite_pid=$!
  set +m
  # A pipe would stay open as long as a process that the suite left behind.
  tail --lines=+1 --follow --sleep-interval=0.1 --pid="$suite_pid" "$log" &
  shown=$!
  wait "$suite_pid"
  status=$?
  suite_pid=
  wait "$shown"
  return "$status"
}

# Adds what a suite left behind to the failures and prints how much it is. Processes end, so that they do not compute beside
# later suites.
count_leftovers() {
  local objects=()
  [ "$alone" = no ] || objects=("$sums/objects")
  scripts/on-node node scripts/leftovers.ts after "$suite_tmp" "$settle_seconds" "${objects[@]}" >"$sums/leftovers" ||
    echo "unknown, because scripts/leftovers.ts failed" >>"$sums/leftovers"
  sed "s/^/FAILED $1: left behind: /" "$sums/leftovers" | cut -c 1-500 >>"$sums/failures"
  wc -l <"$sums/leftovers"
}

# Ends the running suite and its processes.
end_suite() {
  [ -n "$suite_pid" ] || return 0
  kill -TERM "$suite_pid"
  wait "$suite_pid"
  count_leftovers suite >/dev/null
}

add_row() {
  printf '%-14s %7d %7d %7d %9.1f\n' "$1" "$2" "$3" "$4" "$(((SECONDS - $5) / 6))e-1" >>"$sums/table"
}

# Prints which promises of SPECIFICATION.md hold by the reports here, of this run and of others, and records them for the
# page "Proofs" of the documentation site. A promise whose tests did not run is not a failure of this run.
report_proofs() {
  local kind
  # Suites without tests of promises, such as the native one, write no reports.
  compgen -G "$reports/*.json" >/dev/null || return 0
  for kind in threats faults; do
    echo "== $kind"
    scripts/on-node node scripts/proofs.ts "$kind" "$reports"/*.json
  done
  scripts/on-node node scripts/proofs.ts record build/proofs.json "$reports"/*.json
}

# Prints failures, flaky tests and a table, for readers who see only the end of this output; the last line is
# "N passed, N failed". Fails if a suite has failed.
sum_up() {
  local passed failed
  cat "$sums/failures"
  printf '\n%-14s %7s %7s %7s %9s\n' SUITE PASSED FAILED SKIPPED MINUTES
  cat "$sums/table"
  echo
  cat "$sums/flaky"
  read -r passed failed < <(awk '{ passed += $2; failed += $3 } END { print passed, failed }' "$sums/table")
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
