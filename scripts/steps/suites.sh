# Runs test suites and sums them up. For bash scripts in the package's root: . scripts/steps/suites.sh Runs every
# suite even if one fails; a suite that ran nothing counts as failed.

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# suite NAME MINUTES COUNT COMMAND…: COUNT is a function that prints "PASSED FAILED [SKIPPED]" after the command has run.
suite() {
  local name=$1 minutes=$2 count=$3 status=0 ok=0 bad=0 left=0 began=$SECONDS
  shift 3
  # Processes left by a hung suite must not outlive it.
  if [ "$is_beside" = no ]; then
    echo "== $name"
    timeout --kill-after=30s "${minutes}m" "$@" 2>&1 | tee "$results/$name.log" || status=${PIPESTATUS[0]}
  else
    echo "== $name begins"
    timeout --kill-after=30s "${minutes}m" "$@" >"$results/$name.log" 2>&1 &
    trap "kill $!" TERM
    wait $! || status=$?
    flock "$results" sh -c 'echo "== $1"; cat "$2"' sh "$name" "$results/$name.log"
  fi
  read -r ok bad left < <("$count" "$name" "$status") || { ok=0; bad=0; }
  [ $((ok + bad)) -gt 0 ] || { bad=1; note "$name ran nothing"; }
  # A suite may fail outside its tests: by an unhandled error or a time limit.
  [ "$status" = 0 ] || [ "$bad" -gt 0 ] || { bad=1; note "$name ended with status $status"; }
  note "$name: $ok passed, $bad failed, ${left:-0} skipped, $(((SECONDS - began) / 60)) min"
  echo "$ok $bad" >>"$results/counts"
}

# beside LANE…: runs functions in parallel; the output of each suite is printed in one piece when it ends.
is_beside=no
beside() {
  local lane lanes=()
  for lane in "$@"; do
    (is_beside=yes; "$lane") &
    lanes+=($!)
  done
  trap 'kill "${lanes[@]}" 2>/dev/null; wait; exit 130' INT TERM
  wait "${lanes[@]}"
  trap - INT TERM
}

# vitest_suite NAME MINUTES COMMAND…: a suite whose command passes its last arguments to vitest; writes $results/NAME.json.
# A failed test is repeated once, because other programs may have had the processors meanwhile. If it then passes,
# sum_up lists it as flaky. What random input has found is never repeated.
vitest_suite() {
  suite "$1" "$2" vitest_json "${@:3}" --retry.count=1 '--retry.condition=^(?!Property failed)' \
    --reporter=default --reporter=json --outputFile.json="$results/$1.json"
}

note() { echo "== $1" | tee -a "$results/summary.log"; }
one_step() { if [ "$2" = 0 ]; then echo 1 0; else echo 0 1; fi; }
last_line() { sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$results/$1.log" | tail -n 1; }
# An attack that reached nothing counts as passed.
attacks() { sed -n 's/^\([0-9]*\) attacks, \([0-9]*\) reached$/\1 \2/p' "$results/$1.log" | tail -n 1 | { read -r played reached && echo "$((played - reached)) $reached"; }; }
# Counts the tests of a vitest report, and appends failed and flaky ones with their reasons to summary.log.
# A file that fails before its first test counts as one failure.
vitest_json() {
  scripts/on-node node -e '
    const [report, summary] = process.argv.slice(1)
    const { testResults, numPassedTests, numPendingTests } = JSON.parse(fs.readFileSync(report, "utf8"))
    const withErrors = (status) => testResults.flatMap(({ name, assertionResults: tests }) =>
      tests.filter((test) => test.status === status && (status === "failed" || test.failureMessages.length > 0))
        .map((test) => `${name}: ${test.fullName}\n${test.failureMessages.join("\n")}`))
    const failed = testResults.filter(({ status, assertionResults: tests }) => status === "failed" && tests.length === 0)
      .map(({ name, message }) => `${name}: ${message}`).concat(withErrors("failed"))
    const list = (kind, texts) => texts.map((text) => `${kind} ${text.slice(0, 2000)}\n`).join("")
    fs.appendFileSync(summary, list("FAILED", failed) + list("FLAKY", withErrors("passed")))
    console.log(numPassedTests, failed.length, numPendingTests)' "$results/$1.json" "$results/summary.log" 2>/dev/null
}

# Repeats the sums for readers who see only the end of this output; the last line is "N passed, N failed". Fails if a
# suite has failed.
sum_up() {
  local passed failed
  cat "$results/summary.log"
  read -r passed failed < <(awk '{ passed += $1; failed += $2 } END { print passed, failed }' "$results/counts")
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
