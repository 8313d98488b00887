import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSupervisorConfig } from '../../../src/supervisor/index.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Loads a project of several files; the first is its process-compose file. */
function load(files: Readonly<Record<string, string>>, environment: Record<string, string> = {}) {
  const dir = tempDir()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), content)
  }
  const { config, warnings } = loadSupervisorConfig({ HOME: dir, ...environment }, { cwd: dir })
  return { dir, config, warnings, processes: new Map(config.processes.map((each) => [each.name, each])) }
}

const one = (yaml: string, environment?: Record<string, string>) =>
  load({ 'process-compose.yaml': `processes:\n  ${yaml}\n` }, environment)

test('a process runs in bash and is started, checked, restarted and stopped as by process-compose', () => {
  const { processes, config, warnings } = load({
    'process-compose.yaml': `version: "0.5"
environment: [A=1]
processes:
  db:
    command: postgres
    readiness_probe: {http_get: {host: 127.0.0.1, port: 5432, path: /ok}, period_seconds: 2}
    availability: {restart: on_failure, backoff_seconds: 3, max_restarts: 7}
  web:
    command: npm start
    environment: [B=2=3]
    depends_on: {db: {condition: process_healthy}}
    shutdown: {signal: 2, timeout_seconds: 3}
    is_tty: true
    is_foreground: true
`,
  })
  expect(processes.get('db')).toMatchObject({
    command: ['bash', '-c', 'postgres'],
    restart: 'on-failure',
    restartDelayMs: 3_000,
    maxRestarts: 7,
    healthCheck: {
      probe: { kind: 'http', url: 'http://127.0.0.1:5432/ok', status: 200 },
      intervalMs: 2_000,
      onUnhealthy: 'end',
    },
  })
  expect(processes.get('web')).toMatchObject({
    restart: 'never',
    env: { A: '1', B: '2=3', PC_PROC_NAME: 'web', PC_REPLICA_NUM: '0' },
    dependsOn: { db: 'healthy' },
    stopSignal: 'SIGINT',
    stopTimeoutMs: 3_000,
    hasTerminal: true,
  })
  expect(config.exitWhenDone).toBe(true)
  expect(warnings).toEqual([expect.stringContaining('"processes.web.is_foreground" is not supported')])
})

test.each([
  ['process_started', 'started'],
  ['process_healthy', 'healthy'],
  ['process_log_ready', 'healthy'],
  ['process_completed', 'ended'],
  ['process_completed_successfully', 'completed'],
])('the condition %s is %s', (condition, expected) => {
  const { processes } = one(`a: {command: x, ready_log_line: up}
  _b: {command: y, depends_on: {a: {condition: ${condition}}}}`)
  expect(processes.get('_b')?.dependsOn).toEqual({ a: expected })
  expect(processes.get('a')?.healthCheck?.probe).toEqual({ kind: 'log', text: 'up' })
})

test.each([
  ['restart: exit_on_failure', ['failure'], 'never'],
  ['exit_on_end: true', ['failure', 'success'], 'never'],
  ['exit_on_skipped: true, restart: always', ['skipped'], 'always'],
])('availability {%s} stops all on %s', (availability, abortOn, restart) => {
  const { processes } = one(`a: {command: x, availability: {${availability}}}`)
  expect(processes.get('a')).toMatchObject({ abortOn, restart })
})

test('variables, templates and .env are resolved when the file is read, and by bash after $$', () => {
  const { processes } = load(
    {
      'process-compose.yaml': `vars: {WHO: world, MANY: {ONE: 1}}
processes:
  a: {command: "echo $B \${C} $NONE $$B {{.WHO}} {{ .MANY.ONE }} {{.PC_REPLICA_NUM}} {{.NONE}}", working_dir: "/{{.WHO}}"}
  plain: {command: x, is_dotenv_disabled: true}
`,
      '.env': 'B="of the file"\n',
    },
    { B: 'mine', C: 'of the shell' },
  )
  const { command = '', env, cwd } = processes.get('a') ?? {}
  expect(command[2]).toBe('echo of the file of the shell  $$B world 1 0 <no value>')
  expect([env?.['B'], cwd]).toEqual(['of the file', '/world'])
  expect(processes.get('plain')?.env).not.toHaveProperty('B')
})

test("replicas have process-compose's names and numbers", () => {
  const { processes } =
    one(`d: {command: "echo {{.PC_REPLICA_NUM}}", replicas: 11, log_location: "d{PC_REPLICA_NUM}.log"}
  all: {command: x, depends_on: {d: {condition: process_completed}}}`)
  expect([...processes.keys()].slice(0, 11)).toEqual(
    Array.from({ length: 11 }, (_, number) => `d-${String(number).padStart(2, '0')}`),
  )
  expect(processes.get('d-10')).toMatchObject({
    command: ['bash', '-c', 'echo 10'],
    env: { PC_REPLICA_NUM: '10' },
    log: { file: expect.stringMatching(/\/d10\.log$/) },
  })
  expect(Object.keys(processes.get('all')?.dependsOn ?? {})).toHaveLength(11)
})

test('a namespace is a group, and "default" that of the other processes', () => {
  const { processes, warnings } = one(`a: {command: x, namespace: back, replicas: 2}
  b: {command: y}
  c: {command: z, namespace: ""}`)
  expect([...processes].map(([name, { groups }]) => [name, groups])).toEqual([
    ['a-0', ['back']],
    ['a-1', ['back']],
    ['b', ['default']],
    ['c', ['default']],
  ])
  expect(warnings).toEqual([])
  expect(one('a: {command: x}').processes.get('a')?.groups).toEqual([])
})

test('an extended file and an override are merged key by key', () => {
  const { processes, dir } = load({
    'process-compose.yaml': `extends: base/process-compose.yaml
processes:
  a: {environment: [B=over], availability: {max_restarts: 2}}
`,
    'base/process-compose.yaml': `environment: [G=1]
processes:
  a: {command: x, environment: [A=1, B=1], availability: {restart: always}}
  b: {command: y, working_dir: /b}
`,
    'process-compose.override.yaml': 'processes: {b: {command: z}}\n',
  })
  expect(processes.get('a')).toMatchObject({
    cwd: join(dir, 'base'),
    restart: 'always',
    maxRestarts: 2,
    env: { G: '1', A: '1', B: 'over' },
  })
  expect(processes.get('b')).toMatchObject({ command: ['bash', '-c', 'z'], cwd: '/b' })
})

test.each([
  ['a: {command: x, is_daemon: true}', '"processes.a.is_daemon" is not supported; run its command in the'],
  ['a: {command: x, is_elevated: true}', '"processes.a.is_elevated" is not supported'],
  ['a: {command: "{{if .X}}y{{end}}"}', '"processes.a.command" has the template action {{if .X}}'],
  ['a: {command: x, availability: {restart: often}}', 'a.availability.restart must be equal to one of'],
  ['a: {command: x, ready_log_line: x, readiness_probe: {exec: {command: x}}}', 'must not have both'],
  ['a: {command: x, disabled: true}\n  b: {command: x, depends_on: {a: {}}}', 'names "a", which is disabled'],
  ['a: {command: x}\nextends: process-compose.yaml', 'extends itself'],
])('%s is refused, and the key named', (yaml, message) => {
  expect(() => one(yaml)).toThrow(message)
})

const PROBE = '{exec: {command: x}}'

test.each([
  [`readiness_probe: ${PROBE}, liveness_probe: ${PROBE}`, 'exec', ['liveness_probe']],
  [`ready_log_line: up, liveness_probe: ${PROBE}`, 'log', ['liveness_probe']],
  [`liveness_probe: ${PROBE}`, 'exec', []],
  [`readiness_probe: {period_seconds: 1}, liveness_probe: ${PROBE}`, 'exec', ['readiness_probe']],
  ['readiness_probe: {}, liveness_probe: {}', undefined, ['readiness_probe', 'liveness_probe']],
  ['readiness_probe: {exec: {command: x}, http_get: {port: 1}}', 'exec', ['readiness_probe.http_get']],
  ['shutdown: {parent_only: true}, replicas: 2', undefined, ['shutdown.parent_only']],
])('{%s}: the check is %s, and keys without effect are reported once', (keys, kind, ignored) => {
  const { config, warnings } = one(`a: {command: x, ${keys}}`)
  expect(config.processes[0]?.healthCheck?.probe.kind).toBe(kind)
  expect(warnings.map((each) => /"processes\.a\.(\S+)"/.exec(each)?.[1])).toEqual(ignored)
})

test.each([
  'processes.a.NEW',
  'processes.a.shutdown.NEW',
  'processes.a.availability.NEW',
  'processes.a.schedule.NEW',
  'processes.a.readiness_probe.NEW',
  'processes.a.readiness_probe.success_threshold',
  'processes.a.readiness_probe.exec.NEW',
  'processes.a.liveness_probe.http_get.NEW',
  'shell.NEW',
  'log_configuration.NEW',
  'log_configuration.rotation.NEW',
])('the unknown key %s is reported', (key) => {
  const project = { processes: { a: { command: 'x', readiness_probe: { exec: { command: 'x' } } } } }
  let group: Record<string, unknown> = project
  const path = key.split('.')
  for (const each of path.slice(0, -1)) group = (group[each] ??= {}) as Record<string, unknown>
  group[path.at(-1) ?? ''] = 1
  const { warnings } = load({ 'process-compose.yaml': JSON.stringify(project) })
  expect(warnings.join('\n')).toContain(`"${key}" is not supported and ignored`)
})

test('a Docker Compose file is refused by name', () => {
  const dir = tempDir()
  writeFileSync(join(dir, 'compose.yaml'), 'services: {web: {image: nginx}}\n')
  expect(() => loadSupervisorConfig({ HOME: dir }, { cwd: dir, file: join(dir, 'compose.yaml') })).toThrow(
    'looks like a Docker Compose file',
  )
})
