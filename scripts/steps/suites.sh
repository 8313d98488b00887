# Runs test suites and sums them up. For bash scripts in the package's root: . scripts/steps/suites.sh
# Every suite runs, even if one before it fails. Logs and vitest's reports are kept in reports/.

reports=reports
sums=$(mktemp -d)
trap 'rm -rf "$sums"' EXIT
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
  add_row "$name" "$passed" "$failed" "$skipped" "$began"
}

# step NAME MINUTES COMMAND…: a command that counts as one test.
step() {
  local began=$SECONDS
  if run_logged "$@"; then
    add_row "$1" 1 0 0 "$began"
  else
    echo "FAILED $1: ended with status $?" >>"$sums/failures"
    tail -n 12 "$reports/$1.log" >>"$sums/failures"
    add_row "$1" 0 1 0 "$began"
  fi
}

# vitest_suite NAME MINUTES once|again COMMAND… [--files FILE…]: a suite of vitest; with "again", files that fail run
# again, alone (see scripts/run-vitest.ts). Keeps reports/NAME.json.
vitest_suite() {
  suite "$1" "$2" scripts/on-node node scripts/run-vitest.ts "$reports/$1.json" "${@:3}"
}

run_logged() {
  local name=$1 minutes=$2 statuses
  shift 2
  echo "== $name"
  mkdir -p "$reports"
  # Also the processes of a suite that hangs end then.
  timeout --kill-after=30s "${minutes}m" "$@" 2>&1 | tee "$reports/$name.log"
  statuses=("${PIPESTATUS[@]}")
  [ "${statuses[1]}" = 0 ] || return 1
  return "${statuses[0]}"
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
