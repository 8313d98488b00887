import type { Decoded } from '../lib/config/decode.ts'
import {
  duration,
  flag,
  named,
  optionalDuration,
  optionalSection,
  optionalSize,
  optionalText,
  port,
  section,
  size,
  text,
  texts,
} from '../lib/config/fields.ts'
import { LOG_FORMATS, LOG_LEVELS } from '../lib/log/levels.ts'
import { Type } from '../lib/schema/type.ts'
import { EVENTS } from './hooks/hook.ts'
import { ABORT_REASONS, CONDITIONS, RESTART_ORDERS, RESTART_POLICIES } from './process-spec.ts'

const words = (description: string) =>
  Type.Unsafe<string | readonly string[]>({
    type: ['string', 'array'],
    items: { type: 'string' },
    minLength: 1,
    minItems: 1,
    description,
  })
const count = (value: number, description: string) =>
  Type.Integer({ minimum: 0, default: value, description })

const SIGNALS = [
  'SIGTERM',
  'SIGINT',
  'SIGQUIT',
  'SIGHUP',
  'SIGUSR1',
  'SIGUSR2',
  'SIGKILL',
  'SIGWINCH',
] as const

const destination = Type.Object(
  {
    file: optionalText('file that gets them as JSON, rotated as log files are'),
    syslog: optionalText('address of a syslog server: udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH'),
    otlp: optionalText('URL of an OpenTelemetry collector, such as http://127.0.0.1:4318/v1/logs'),
    headers: named(Type.String({ writeOnly: true }), 'headers of the requests to the collector'),
  },
  { additionalProperties: false },
)

const healthcheck = optionalSection({
  exec: Type.Optional(words('command that exits with 0 if the process is healthy')),
  http: optionalText('URL that returns a status from 200 to 399 if it is healthy'),
  headers: named(Type.String(), 'headers of the request to the URL'),
  status: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 599,
      description: 'the only status of the URL that counts as healthy',
    }),
  ),
  tcp: Type.Optional(
    Type.Unsafe<string | number>({
      type: ['string', 'integer'],
      minLength: 1,
      description: 'address host:port, or a port of localhost, that accepts connections if it is healthy',
    }),
  ),
  log: optionalText('text of a line that the process prints when it is healthy'),
  interval: duration('10s', 'time between checks'),
  timeout: duration('3s', 'maximum duration of a check'),
  retries: Type.Integer({
    minimum: 1,
    default: 3,
    description: 'consecutive failures that make the process unhealthy',
  }),
  initial_delay: optionalDuration('time before the first check; default: `start_interval`'),
  start_interval: duration('1s', 'time between checks of a starting process, at most `interval`'),
  start_period: duration('0s', 'failures within this time after the start do not count'),
  restart: flag(false, 'restarts an unhealthy process'),
  end: flag(false, 'stops an unhealthy process, after which `restart` applies'),
})

const resource = Type.Optional(Type.Integer({ minimum: 0, description: 'limit of setrlimit(2)' }))

const limits = optionalSection({
  cpu_time: resource,
  file_size: resource,
  data: resource,
  stack: resource,
  core: resource,
  nproc: resource,
  nofile: resource,
  memlock: resource,
  address_space: resource,
  memory: optionalSize('maximum memory of the whole process tree; requires control groups'),
  cpus: Type.Optional(
    Type.Unsafe<number>({
      type: 'number',
      exclusiveMinimum: 0,
      description: 'maximum CPUs of the whole process tree; requires control groups',
    }),
  ),
})

const hookSchema = Type.Object(
  {
    on: Type.Array(Type.Enum(EVENTS), { minItems: 1, description: 'events that it is run for' }),
    command: Type.Optional(words('command: a string for /bin/sh, or a list of arguments')),
    url: Type.Optional(
      Type.String({ minLength: 1, writeOnly: true, description: 'webhook: URL that gets a POST with JSON' }),
    ),
    secret: Type.Optional(
      Type.String({
        minLength: 1,
        writeOnly: true,
        description: 'secret that signs the requests to the URL',
      }),
    ),
    timeout: duration('10s', 'maximum duration of the command, or of each request'),
  },
  { additionalProperties: false },
)

const processSchema = Type.Object(
  {
    cmd: words('command: a string for /bin/sh, or a list of arguments'),
    cwd: optionalText("working directory, relative to the configuration file's, which is the default"),
    env: named(
      Type.Unsafe<string | number | boolean>({ type: ['string', 'number', 'boolean'] }),
      'variables; $NAME and ${NAME:-default} are resolved',
    ),
    env_file: Type.Optional(words('files with variables, read at each start')),
    groups: texts('names of groups, which can be started, stopped and shown together'),
    autostart: flag(true, 'starts with the supervisor'),
    restart: Type.Enum(RESTART_POLICIES, {
      default: 'on-failure',
      description: 'when to restart after an unrequested exit',
    }),
    restart_order: Type.Enum(RESTART_ORDERS, {
      default: 'stop-first',
      description: 'start-first: a restart starts the next run first, which then gets the requests',
    }),
    start_timeout: duration('60s', 'time in which the next run must be healthy, with start-first'),
    drain_timeout: duration('10s', 'time in which requests to the replaced run must end, with start-first'),
    success_codes: Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), {
      default: [0],
      description: 'exit statuses that count as success',
    }),
    restart_delay: optionalDuration('delay before each restart; default 1s, doubled up to 60s'),
    max_restarts: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'maximum consecutive restarts; default: unlimited with restart_delay, otherwise none after five runs shorter than 10s in total',
      }),
    ),
    abort_on: Type.Array(Type.Enum(ABORT_REASONS), {
      default: [],
      description: 'exits of this process that stop all processes, with its exit status',
    }),
    depends_on: named(
      Type.Enum(CONDITIONS),
      'processes that must be started, healthy, completed (with success) or ended first',
    ),
    healthcheck,
    stop_signal: Type.Enum(SIGNALS, {
      default: 'SIGTERM',
      description: 'signal that asks the process to stop',
    }),
    stop_command: Type.Optional(words('command that stops the process, instead of the signal')),
    stop_timeout: duration('10s', 'time until SIGKILL stops it with everything it started'),
    user: optionalText('user, or user:group, to run as'),
    tty: flag(false, 'runs the process on a terminal, for `supervisor attach`; requires Linux'),
    limits,
    log: optionalSection({
      buffer_lines: Type.Optional(Type.Integer({ minimum: 1, description: 'as log.buffer_lines' })),
      buffer_bytes: optionalSize('as log.buffer_bytes'),
      dir: optionalText('as log.dir'),
      file: optionalText('log file of this process, instead of one in log.dir'),
    }),
    proxy: optionalSection({
      subdomain: optionalText("subdomain of the proxy; default: the process's name"),
      port: port(0, 'port the process listens on, passed to it as PORT; further replicas get the next ones'),
      hold: optionalDuration('as proxy.hold'),
    }),
    replicas: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 1,
      description: 'number of copies; several are named NAME-1, NAME-2 …',
    }),
    watch: optionalSection({
      paths: words('files whose change restarts the process: paths and patterns, relative to `cwd`'),
      ignore: texts('patterns of files that do not count; without a slash, of names'),
      debounce: duration('200ms', 'time without further changes before the restart'),
    }),
    schedule: optionalText('start times in crontab(5) syntax, or `@every 90s`'),
    hooks: named(hookSchema, 'hooks for events of this process, by name'),
  },
  { additionalProperties: false },
)

/** Schema of the supervisor's configuration file. */
export const supervisorSchema = section({
  api: section({
    host: text('127.0.0.1', 'address of the API'),
    port: port(5555, 'port of the API'),
    allowed_hosts: texts('additional host names that the API accepts; "*" for all'),
    token: Type.Enum(['auto', 'always'], {
      default: 'auto',
      description: 'auto: required if the API listens beyond this machine; always: required everywhere',
    }),
    token_file: optionalText('file with the token, created at the first start; default ~/.supervisor/token'),
    show_env: flag(false, 'shows values of variables with names that look secret'),
  }),
  log: section({
    buffer_lines: Type.Integer({
      minimum: 1,
      default: 10_000,
      description: 'lines of each process in memory',
    }),
    buffer_bytes: size('1MiB', 'bytes of each process in memory'),
    dir: optionalText('directory with a log file per process, NAME.log; default: none'),
    max_file_bytes: size('50MiB', 'size at which a log file is rotated'),
    keep_files: count(5, 'rotated files per process'),
    times: flag(false, 'prefixes lines in files with their time'),
    ship: named(destination, 'destinations of the lines of all processes, by name'),
    level: Type.Enum(LOG_LEVELS, {
      default: 'info',
      description: "minimum severity of the supervisor's own log",
    }),
    format: Type.Enum(LOG_FORMATS, {
      default: 'auto',
      description: 'auto: pretty on a terminal, otherwise JSON',
    }),
  }),
  proxy: section({
    enabled: flag(false, 'makes processes available by subdomain'),
    host: text('127.0.0.1', 'address of the proxy'),
    port: port(8088, 'port of the proxy'),
    domains: Type.Array(Type.String({ minLength: 1 }), {
      default: ['localhost'],
      description: 'domains whose subdomains are processes',
    }),
    trusted_proxies: texts('addresses and networks of proxies whose X-Forwarded headers are passed on'),
    keep: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 1000,
      description: 'number of stored requests',
    }),
    timeout: duration('60s', "maximum time until a process's response starts"),
    hold: duration('30s', 'maximum time that a request waits for a process to start; 0s: refused at once'),
    hold_requests: count(1000, 'maximum number of waiting requests'),
  }),
  shutdown_timeout: duration('9s', 'time after which SIGKILL stops what is left of all processes'),
  exit_when_done: flag(false, 'exits when all processes have exited'),
  state_dir: optionalText('directory of the run records; default below ~/.supervisor/state'),
  hooks: named(hookSchema, 'hooks for events of all processes, by name'),
  processes: named(processSchema, 'processes by name'),
})

/** Decoded configuration of the supervisor. */
export type Settings = Decoded<typeof supervisorSchema>
/** Decoded configuration of a process. */
export type ProcessSettings = Decoded<typeof processSchema>
/** Decoded configuration of a hook. */
export type HookSettings = Decoded<typeof hookSchema>
