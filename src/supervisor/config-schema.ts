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
import { ABORT_REASONS, CONDITIONS, RESTART_POLICIES } from './process-spec.ts'

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

const healthcheck = optionalSection({
  exec: Type.Optional(words('command that ends with 0 when the process is healthy')),
  http: optionalText('URL that answers with a status from 200 to 399 then'),
  headers: named(Type.String(), 'headers of the request to the URL'),
  status: Type.Optional(
    Type.Integer({ minimum: 100, maximum: 599, description: 'the only status of the URL that is healthy' }),
  ),
  tcp: Type.Optional(
    Type.Unsafe<string | number>({
      type: ['string', 'integer'],
      minLength: 1,
      description: 'address host:port, or a port of 127.0.0.1, that accepts connections then',
    }),
  ),
  log: optionalText('text of a line that the process prints once it is healthy'),
  interval: duration('10s', 'time between two checks'),
  timeout: duration('3s', 'how long a check may take'),
  retries: Type.Integer({
    minimum: 1,
    default: 3,
    description: 'so many failures in a row make it unhealthy',
  }),
  start_period: duration('0s', 'failures within this time after the start do not count'),
  restart: flag(false, 'whether an unhealthy process is restarted'),
  end: flag(false, 'whether an unhealthy process is ended, after which `restart` decides'),
})

const resource = Type.Optional(Type.Integer({ minimum: 0, description: 'resource of setrlimit(2)' }))

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
  memory: optionalSize('most memory of all its processes; needs control groups'),
  cpus: Type.Optional(
    Type.Unsafe<number>({
      type: 'number',
      exclusiveMinimum: 0,
      description: 'most CPUs of all its processes; needs control groups',
    }),
  ),
})

const processSchema = Type.Object(
  {
    cmd: words('what is run: a text by /bin/sh, a list as it is'),
    cwd: optionalText("working directory, relative to the config file's, which is the default"),
    env: named(
      Type.Unsafe<string | number | boolean>({ type: ['string', 'number', 'boolean'] }),
      'variables; $NAME and ${NAME:-otherwise} are resolved',
    ),
    env_file: Type.Optional(words('files of variables, read anew at each start')),
    autostart: flag(true, 'whether it starts with the supervisor'),
    restart: Type.Enum(RESTART_POLICIES, {
      default: 'on-failure',
      description: 'when it is started again after it has ended by itself',
    }),
    success_codes: Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), {
      default: [0],
      description: 'exit codes that are no failure',
    }),
    restart_delay: optionalDuration('time before each restart; default 1s, doubled up to 60s'),
    max_restarts: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'restarts in a row; default no bound with a restart_delay, else none after five runs shorter than 10s together',
      }),
    ),
    abort_on: Type.Array(Type.Enum(ABORT_REASONS), {
      default: [],
      description: 'ends of this process that end all of them, with its exit status',
    }),
    depends_on: named(
      Type.Enum(CONDITIONS),
      'processes that must be started, healthy, completed (with success) or ended before it starts',
    ),
    healthcheck,
    stop_signal: Type.Enum(SIGNALS, { default: 'SIGTERM', description: 'signal that asks it to end' }),
    stop_command: Type.Optional(words('command that ends it, run in place of the signal')),
    stop_timeout: duration('10s', 'after this time SIGKILL ends it, with all that it has started'),
    user: optionalText('user, or user:group, that it runs as'),
    limits,
    log: optionalSection({
      buffer_lines: Type.Optional(Type.Integer({ minimum: 1, description: 'as log.buffer_lines' })),
      buffer_bytes: optionalSize('as log.buffer_bytes'),
      dir: optionalText('as log.dir'),
      file: optionalText('file of its lines, in place of one in log.dir'),
    }),
    proxy: optionalSection({
      subdomain: optionalText('its name below the domains of the proxy; default its own'),
      port: port(0, 'port that it listens on, given to it as PORT; further replicas have the next ones'),
    }),
    replicas: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 1,
      description: 'how many run; several are called NAME-1, NAME-2 …',
    }),
    schedule: optionalText('times at which it is started, as crontab(5) writes them, or `@every 90s`'),
  },
  { additionalProperties: false },
)

/** Every key of the supervisor's config file. */
export const supervisorSchema = section({
  api: section({
    host: text('127.0.0.1', 'address the API listens on'),
    port: port(5555, 'port the API listens on'),
    allowed_hosts: texts('further host names the API answers to; "*" for all'),
    token: Type.Enum(['auto', 'always'], {
      default: 'auto',
      description: 'auto: requests need the token where the API listens beyond this machine',
    }),
    token_file: optionalText('file of the token, made on the first start; default ~/.supervisor/token'),
    show_env: flag(false, 'whether values of variables whose names look secret are shown'),
  }),
  log: section({
    buffer_lines: Type.Integer({
      minimum: 1,
      default: 10_000,
      description: 'lines kept in memory of each process',
    }),
    buffer_bytes: size('1MiB', 'bytes kept in memory of each process'),
    dir: optionalText('directory of a file for each process, NAME.log; none when left out'),
    max_file_bytes: size('50MiB', 'a file of this size makes way for a new one'),
    keep_files: count(5, 'full files that are kept of each process'),
    times: flag(false, 'whether lines in files begin with their time'),
    level: Type.Enum(LOG_LEVELS, {
      default: 'info',
      description: "least severe level of the supervisor's own log",
    }),
    format: Type.Enum(LOG_FORMATS, {
      default: 'auto',
      description: 'auto: pretty on a terminal, JSON elsewhere',
    }),
  }),
  proxy: section({
    enabled: flag(false, 'whether processes are reached by their subdomains'),
    host: text('127.0.0.1', 'address the proxy listens on'),
    port: port(8088, 'port the proxy listens on'),
    domains: Type.Array(Type.String({ minLength: 1 }), {
      default: ['localhost'],
      description: 'domains whose subdomains are processes',
    }),
    keep: Type.Integer({ minimum: 1, maximum: 1000, default: 1000, description: 'requests that are kept' }),
    timeout: duration('60s', 'how long a process may be silent before its answer begins'),
  }),
  shutdown_timeout: duration('9s', 'what is left of all processes after this time is ended by SIGKILL'),
  exit_when_done: flag(false, 'whether the supervisor ends when all processes have ended'),
  state_dir: optionalText('where it is kept what runs; default below ~/.supervisor/state'),
  processes: named(processSchema, 'what is run, by name'),
})

export type Settings = Decoded<typeof supervisorSchema>
export type ProcessSettings = Decoded<typeof processSchema>
