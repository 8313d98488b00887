import { execFileSync } from 'node:child_process'
import { cpSync, globSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { runBoth, runProcessCompose } from '../../support/supervisor/project-runners.ts'

const LIMIT_MS = 120_000

/** Projects that each use one key, or an edge case of it. */
const PROJECTS: Readonly<Record<string, string>> = {
  'the conditions of a dependency that fails': `
  _once: {command: "exit 1"}
  ended: {command: "echo ended", depends_on: {_once: {condition: process_completed}}}
  started: {command: "echo started", depends_on: {_once: {condition: process_started}}}
  skipped: {command: "echo skipped", depends_on: {_once: {condition: process_completed_successfully}}}
  after: {command: "echo after", depends_on: {skipped: {condition: process_completed}}}
  default: {command: "echo default", depends_on: {_once: {}}}`,
  'a ready log line': `
  server: {command: "echo one; sleep 0.5; echo 'now READY to serve'; sleep 1", ready_log_line: READY to}
  client: {command: "echo client", depends_on: {server: {condition: process_log_ready}}}`,
  'a readiness probe that succeeds': `
  server: {command: "rm -f up; sleep 1; touch up; sleep 3", readiness_probe: {exec: {command: "[[ -e up ]]"}, period_seconds: 1, failure_threshold: 5}}
  client: {command: "echo client", depends_on: {server: {condition: process_healthy}}}`,
  'S6 a first probe after a delay, and its dependent': `
  base: {command: "sleep 8", readiness_probe: {exec: {command: ": ready"}, initial_delay_seconds: 4, period_seconds: 1}}
  next: {command: "echo next", depends_on: {base: {condition: process_healthy}}}
  live: {command: "sleep 6", liveness_probe: {exec: {command: ": alive"}, initial_delay_seconds: 3, period_seconds: 2}}`,
  'S6 a first probe at once, and not after a period': `
  base: {command: "sleep 5", readiness_probe: {exec: {command: ": ready"}, period_seconds: 60}}
  next: {command: "echo next", depends_on: {base: {condition: process_healthy}}}`,
  'S6 a readiness and a liveness probe': `
  base: {command: "rm -f up; sleep 2; touch up; sleep 4; echo ended", readiness_probe: {exec: {command: "test -e up"}, period_seconds: 1, failure_threshold: 9}, liveness_probe: {http_get: {port: 1}, period_seconds: 1, failure_threshold: 2}, availability: {restart: on_failure}}
  next: {command: "test -e up && echo next", depends_on: {base: {condition: process_healthy}}}`,
  'S6 a ready log line and a liveness probe': `
  base: {command: "sleep 2; touch up; echo READY; sleep 3", ready_log_line: READY, liveness_probe: {exec: {command: ": alive"}, period_seconds: 1}}
  next: {command: "test -e up && echo next", depends_on: {base: {condition: process_log_ready}}}`,
  'a readiness probe without a target': `
  none: {command: "sleep 5; echo ended", readiness_probe: {period_seconds: 1, failure_threshold: 1}}`,
  'S6 a process that is ready after some periods': `
  slow: {command: "sleep 4; touch up; sleep 4", readiness_probe: {exec: {command: "test -e up"}, period_seconds: 3, failure_threshold: 3}}
  next: {command: "echo next", depends_on: {slow: {condition: process_healthy}}}`,
  'S6 a process that is stopped after as many failed probes as allowed': `
  never: {command: "sleep 60", readiness_probe: {exec: {command: "false # ready"}, initial_delay_seconds: 1, period_seconds: 2, failure_threshold: 3}}`,
  'S6 settings of probes that are 0': `
  never: {command: "sleep 12", readiness_probe: {exec: {command: "false # ready"}, initial_delay_seconds: 0, period_seconds: 0, failure_threshold: 0, timeout_seconds: 0}}`,
  'S6 a process whose liveness probe fails': `
  dead: {command: "sleep 5; echo ended", liveness_probe: {exec: {command: "false # alive"}, period_seconds: 1, failure_threshold: 2}}`,
  'S6 a process that ends before its first probe': `
  crash: {command: "sleep 1; exit 3", readiness_probe: {exec: {command: ": crashed"}, initial_delay_seconds: 3, period_seconds: 1}}
  after: {command: "echo after", depends_on: {crash: {condition: process_healthy}}}`,
  'S6 restarts after a backoff, and a dependent of the last': `
  failing: {command: "exit 4", availability: {restart: on_failure, backoff_seconds: 2, max_restarts: 2}}
  after: {command: "echo after", depends_on: {failing: {condition: process_completed}}}`,
  'S6 a chain of ends': `
  a: {command: "sleep 0.4; echo a"}
  b: {command: "sleep 0.3; echo b; exit 2", depends_on: {a: {condition: process_completed_successfully}}}
  c: {command: "echo c", depends_on: {b: {condition: process_completed}}}
  d: {command: "echo d", depends_on: {b: {condition: process_completed_successfully}}}`,
  'restarts up to a limit': `
  failing: {command: "echo try; exit 3", availability: {restart: on_failure, max_restarts: 2}}
  fine: {command: "echo fine", availability: {restart: on_failure, max_restarts: 2}}
  always: {command: "echo always", availability: {restart: always, max_restarts: 1, backoff_seconds: 2}}`,
  'an exit that stops all, with its status': `
  other: {command: "sleep 100"}
  main: {command: "echo main; exit 42", availability: {exit_on_end: true}}`,
  'a failure that stops all': `
  other: {command: "sleep 100"}
  main: {command: "exit 7", availability: {restart: exit_on_failure}}`,
  'a skipped process that stops all': `
  failing: {command: "exit 1"}
  other: {command: "sleep 100"}
  main: {command: "echo never", depends_on: {failing: {condition: process_completed_successfully}}, availability: {exit_on_skipped: true}}`,
  'bash, variables and templates': `
  bash: {command: "[[ a == a ]] && echo $$0 $USER \${USER} $NONE. $$PC_PROC_NAME $$PC_REPLICA_NUM"}
  template: {command: "echo {{.WHO}} {{ .WHO }} {{.PC_REPLICA_NUM}} {{.NONE}}", vars: {WHO: me}}
  list: {entrypoint: [printf, "%s\\\\n", "a b", "$USER"]}
  env: {command: "echo $$A $$B $$C", environment: [A=1, "B=x=y"]}
  plain: {command: "echo $$DOT.", is_dotenv_disabled: true}
  dot: {command: "echo $$DOT $DOT", environment: [DOT=own]}`,
  replicas: `
  d: {command: "echo {{.PC_REPLICA_NUM}} $$PC_REPLICA_NUM", replicas: 3}`,
  'processes that do not start': `
  off: {command: "echo off", disabled: true}
  on: {command: "echo on"}`,
  'both streams, long lines and binary output': `
  noisy: {command: "seq 1 500; head -c 3000 /dev/zero | tr '\\\\0' x; echo"}
  errors: {command: "seq 501 600 >&2"}`,
  'a command that stops a process': `
  server: {command: "trap '' TERM; while ! [ -e stop ]; do sleep 0.05; done; echo stopped", shutdown: {command: "touch stop"}}
  main: {command: "sleep 0.5", availability: {exit_on_end: true}}`,
}

test.concurrent.each(Object.entries(PROJECTS))(
  '%s: as process-compose',
  { timeout: LIMIT_MS },
  async (_what, processes) => {
    const { theirs, ours } = await runBoth(runProcessCompose, (dir) => {
      writeFileSync(join(dir, '.env'), 'DOT=of the file\n')
      const file = join(dir, 'process-compose.yaml')
      writeFileSync(file, `version: "0.5"\nprocesses:${processes}\n`)
      return file
    })
    expect(ours).toEqual(theirs)
  },
)

test.concurrent.each([[['back']], [['default']], [['back', 'front']], [[]]])(
  'only the namespaces %j: as process-compose',
  { timeout: LIMIT_MS },
  async (groups) => {
    const { theirs, ours } = await runBoth(
      runProcessCompose,
      (dir) => {
        const file = join(dir, 'process-compose.yaml')
        writeFileSync(
          file,
          `processes:
  db: {command: "echo db", namespace: back}
  api: {command: "echo api", namespace: back, depends_on: {db: {condition: process_completed}}, replicas: 2}
  web: {command: "echo web", namespace: front}
  other: {command: "echo other"}
`,
        )
        return file
      },
      { groups },
    )
    expect(ours).toEqual(theirs)
    expect(ours.lines).not.toEqual({})
  },
)

/** process-compose's own projects with an intentionally different outcome, and the reason. */
const DIFFERENT: Readonly<Record<string, string>> = {
  issue_189: 'a process stopped by a readiness probe is restarted',
  issue_191: 'it prints the time',
  issue_238: 'is_elevated is refused',
  issue_258: 'is_daemon is refused',
  issue_316: 'env_cmds is refused',
  issue_72: 'is_daemon is refused',
}

const own = execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', 'github.com/f1bonacc1/process-compose'], {
  cwd: join(packageRoot, '.node/peers/go'),
  encoding: 'utf8',
}).trim()
const projects = globSync('{fixtures,fixtures-code,issues/*}/process-compose*.{yaml,yml}', {
  cwd: own,
}).filter((file) => !(basename(dirname(file)) in DIFFERENT) && !file.includes('.override.'))

/** Projects that do not end by themselves. */
const ENDLESS = new Set(['issue_107', 'issue_214', 'issue_237'])

test("process-compose's own projects are found", () => expect(projects.length).toBeGreaterThan(20))

test.concurrent.each(projects)('%s: as process-compose', { timeout: LIMIT_MS }, async (file) => {
  const fill = (dir: string): string => {
    // Some write into their own folder.
    cpSync(join(own, dirname(file)), dir, { recursive: true })
    execFileSync('chmod', ['-R', 'u+w', dir])
    return join(dir, basename(file))
  }
  const way = ENDLESS.has(basename(dirname(file))) ? { interruptAfterMs: 10_000 } : {}
  const { theirs, ours } = await runBoth(runProcessCompose, fill, way)
  expect(ours).toEqual(theirs)
})
