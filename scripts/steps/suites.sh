# Runs test suites and sums them up. For bash scripts in the package's root: . scripts/steps/suites.sh
# Every suite runs, even if one before it fails. Logs and vitest's reports are kept in build/reports.

reports=build/reports
mkdir -p "$reports"
sums=$(mktemp -d)
trap 'rm -rf "$sums"' EXIT
: >"$sums/table" >"$sums/failures"

# suite NAME MINUTES COMMAND…: COMMAND is ended after MINUTES. Its last line is "N passed, N failed[, N skipped]"; without
# one it counts as one test. One that ran nothing fails.
suite() {
  local name=$1 minutes=$2 status passed=0 failed=0 skipped=0 began=$SECONDS last
  shift 2
  echo "== $name"
  # Also the processes of a suite that hangs end then.
  timeout --kill-after=30s "${minutes}m" "$@" 2>&1 | tee "$reports/$name.log"
  status=${PIPESTATUS[0]}
  last=$(tail -n 1 "$reports/$name.log")
  if [[ $last =~ ^([0-9]+)' passed, '([0-9]+)' failed'(', '([0-9]+)' skipped')?$ ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[4]:-0}
    [ $((passed + failed)) -gt 0 ] || { failed=1; echo "FAILED $name: it ran nothing" >>"$sums/failures"; }
  elif [ "$status" = 0 ]; then
    passed=1
  fi
  # For example by its time limit, or by an error outside of its tests.
  if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
    failed=1
    echo "FAILED $name: ended with status $status after $((SECONDS - began)) s" >>"$sums/failures"
  fi
  # A failure is followed by its first lines.
  grep -aE -A 12 '^(FAILED|flaky:) ' "$reports/$name.log" | cut -c 1-500 >>"$sums/failures"
  printf '%-14s %7d %7d %7d %9.1f\n' "$name" "$passed" "$failed" "$skipped" "$(((SECONDS - began) / 6))e-1" >>"$sums/table"
}

# vitest_suite NAME MINUTES once|again COMMAND… [-- FILE…]: a suite of vitest; with "again", files that fail run
# again, alone (see scripts/run-vitest.ts). Keeps build/reports/NAME.json.
vitest_suite() {
  suite "$1" "$2" scripts/on-node node scripts/run-vitest.ts "$reports/$1.json" "${@:3}"
}

# Prints which promises of SPECIFICATION.md hold by the reports here, of this run and of others, and records them for the
# page "Proofs" of the documentation site. A promise whose tests did not run is not a failure of this run.
report_proofs() {
  local kind
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
  grep -av '^flaky: ' "$sums/failures"
  printf '\n%-14s %7s %7s %7s %9s\n' SUITE PASSED FAILED SKIPPED MINUTES
  cat "$sums/table"
  echo
  grep -a '^flaky: ' "$sums/failures"
  read -r passed failed < <(awk '{ passed += $2; failed += $3 } END { print passed, failed }' "$sums/table")
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
