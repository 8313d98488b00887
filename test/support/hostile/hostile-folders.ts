import { chmodSync, chownSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { stringify } from 'yaml'

/** The author's knowledge of the user, and the author's server. */
interface HostileAim {
  /** The folder that a user enters. */
  readonly dir: string
  /** The author's own server. */
  readonly host: string
  readonly port: number
  /** The user's files, each of one line and private. */
  readonly secrets: readonly string[]
  /** A file that must never be written. */
  readonly marker: string
}

type Fill = (aim: HostileAim) => void

const CONFIGS = ['supervisor.yaml', 'supervisor.yml', 'process-compose.yaml', 'process-compose.yml'] as const

function write({ dir }: HostileAim, file: string, content: string | object): void {
  writeFileSync(join(dir, file), typeof content === 'string' ? content : stringify(content))
}

function make(...words: readonly string[]): void {
  const { status } = spawnSync(words[0] ?? '', words.slice(1))
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}`)
}

const processes = { web: { cmd: 'exec sleep 1' } }

/** Every location of the address × every location of the token, for each file that we read. */
const addresses: readonly (readonly [string, Fill])[] = CONFIGS.slice(0, 2).flatMap((file) =>
  [undefined, 'relative', 'absolute', 'linked'].map((token): readonly [string, Fill] => [
    `${file} names a server and ${token === undefined ? 'no token' : `a ${token} token file`}`,
    (aim) => {
      const { dir, host, port, secrets } = aim
      const [secret = ''] = secrets
      if (token === 'linked') symlinkSync(secret, join(dir, 'token'))
      const names: Readonly<Record<string, string>> = {
        relative: '../home/.npmrc',
        absolute: secret,
        linked: 'token',
      }
      write(aim, file, {
        api: { host, port, ...(token !== undefined && { token_file: names[token], token: 'always' }) },
        processes,
      })
    },
  ]),
)

/** Inputs that could break a parser. */
const parsers: readonly (readonly [string, Fill])[] = [
  [
    'aliases that multiply',
    (aim) => {
      const levels = Array.from({ length: 30 }, (_, at) =>
        at === 0
          ? 'a0: &a0 [x, x]'
          : `a${at}: &a${at} [${Array(9)
              .fill(`*a${at - 1}`)
              .join(', ')}]`,
      )
      write(aim, 'supervisor.yaml', `${levels.join('\n')}\n`)
    },
  ],
  ['lists in lists', (aim) => write(aim, 'supervisor.yaml', '['.repeat(100_000))],
  ['maps in maps', (aim) => write(aim, 'supervisor.yaml', '{a: '.repeat(50_000))],
  [
    'a file of gigabytes',
    (aim) => {
      write(aim, 'supervisor.yaml', '')
      truncateSync(join(aim.dir, 'supervisor.yaml'), 2 ** 36)
    },
  ],
  [
    'a Procfile of gigabytes',
    (aim) => {
      write(aim, 'Procfile', '')
      truncateSync(join(aim.dir, 'Procfile'), 2 ** 36)
    },
  ],
  [
    'millions of replicas',
    (aim) =>
      write(aim, 'supervisor.yaml', {
        processes: Object.fromEntries(
          Array.from({ length: 4_000 }, (_, at) => [`p${at}`, { cmd: 'x', replicas: 1_000 }]),
        ),
      }),
  ],
  [
    'a long chain of dependencies',
    (aim) =>
      write(aim, 'supervisor.yaml', {
        processes: Object.fromEntries(
          Array.from({ length: 4_000 }, (_, at) => [
            `p${at}`,
            { cmd: 'x', ...(at < 3_999 && { depends_on: { [`p${at + 1}`]: 'started' } }) },
          ]),
        ),
      }),
  ],
  [
    'references without an end',
    (aim) => write(aim, 'supervisor.yaml', { processes: { web: { cmd: 'x', cwd: '${A:-'.repeat(40_000) } } }),
  ],
  [
    'thousands of unknown keys',
    (aim) =>
      write(
        aim,
        'supervisor.yaml',
        Object.fromEntries(Array.from({ length: 8_000 }, (_, at) => [`k${at}`, at])),
      ),
  ],
  ['a key of 200 KB', (aim) => write(aim, 'supervisor.yaml', `${'k'.repeat(200_000)}: 1\n`)],
  [
    'names of prototypes',
    (aim) => write(aim, 'supervisor.yaml', '{__proto__: {api: {port: 1}}, constructor: 1}\n'),
  ],
  ['zeros', (aim) => write(aim, 'supervisor.yaml', '\0'.repeat(100_000))],
  [
    'text that is not UTF-8',
    (aim) => writeFileSync(join(aim.dir, 'supervisor.yaml'), Buffer.alloc(50_000, 0xff)),
  ],
  [
    'a tag that would run code elsewhere',
    (aim) =>
      write(
        aim,
        'supervisor.yaml',
        `!!js/function "function () { require('fs').writeFileSync('${aim.marker}', '') }"\n`,
      ),
  ],
]

/** Things other than a regular file. */
const kinds: readonly (readonly [string, Fill])[] = [
  ...(['supervisor.yaml', 'Procfile', 'package.json', 'pom.xml', '.git'] as const).map(
    (file): readonly [string, Fill] => [`${file} is a FIFO`, ({ dir }) => make('mkfifo', join(dir, file))],
  ),
  ['a config that is a device', ({ dir }) => symlinkSync('/dev/zero', join(dir, 'supervisor.yaml'))],
  ['a config that is a terminal', ({ dir }) => symlinkSync('/dev/tty', join(dir, 'supervisor.yaml'))],
  ['a config that is a directory', ({ dir }) => mkdirSync(join(dir, 'supervisor.yaml'))],
  [
    'a config that is a secret',
    ({ dir, secrets }) => symlinkSync(secrets[0] ?? '', join(dir, 'supervisor.yaml')),
  ],
  [
    'a config that is a link to itself',
    ({ dir }) => symlinkSync('supervisor.yaml', join(dir, 'supervisor.yaml')),
  ],
  [
    'a config of another user',
    (aim) => {
      write(aim, 'supervisor.yaml', { api: { host: aim.host, port: aim.port }, processes })
      if (process.getuid?.() === 0) chownSync(join(aim.dir, 'supervisor.yaml'), 65_534, 65_534)
    },
  ],
  [
    'a world-writable config',
    (aim) => {
      write(aim, 'supervisor.yaml', { api: { host: aim.host, port: aim.port }, processes })
      chmodSync(join(aim.dir, 'supervisor.yaml'), 0o666)
    },
  ],
]

/** Files that look like our state or configuration in places where none belongs. */
const impostors: readonly (readonly [string, Fill])[] = [
  [
    'a state directory with the record of a supervisor',
    (aim) => {
      const { dir, host, port, secrets } = aim
      write(aim, 'supervisor.yaml', { state_dir: 'state', processes })
      const record = { process: { pid: process.pid }, url: `http://${host}:${port}`, tokenFile: secrets[0] }
      for (const folder of ['state', '.supervisor/state/project-0']) {
        mkdirSync(join(dir, folder), { recursive: true })
        writeFileSync(join(dir, folder, 'server.json'), JSON.stringify(record))
      }
    },
  ],
  [
    'configs of all programs',
    (aim) => {
      const { dir, host, port, secrets } = aim
      const url = `http://${host}:${port}`
      const [secret] = secrets
      const servers = { evil: { url, token_file: secret } }
      const files = {
        'cli.yaml': { servers, default_server: 'evil' },
        'config.yaml': {
          server: { host, port },
          http: { host, port, token_file: secret },
          store: { type: 's3', endpoint: url, bucket: 'x' },
        },
      }
      for (const folder of [
        '.',
        '.config/workspace',
        '.config/content-server',
        '.config/analyzer',
        '.workspace',
        'workspace',
        'analyzer',
      ]) {
        mkdirSync(join(dir, folder), { recursive: true })
        for (const [file, content] of Object.entries(files)) write(aim, join(folder, file), content)
      }
    },
  ],
  [
    'variables in .env files',
    (aim) => {
      const url = `http://${aim.host}:${aim.port}`
      const lines = [
        `SUPERVISOR_URL=${url}`,
        `WORKSPACE_URL=${url}`,
        `WORKSPACE_TOKEN_FILE=${aim.secrets[0]}`,
        `SUPERVISOR_API__TOKEN_FILE=${aim.secrets[0]}`,
        `NODE_OPTIONS=--require ${aim.dir}/run.cjs`,
      ]
      for (const file of ['.env', '.envrc', '.env.local', '.npmrc', '.node-options'])
        write(aim, file, `${lines.join('\n')}\n`)
      write(aim, 'Procfile', 'web: true\n')
    },
  ],
  [
    'programs and modules with our names',
    (aim) => {
      const { dir, marker } = aim
      const script = `#!/bin/sh\n: > '${marker}'\n`
      for (const name of [
        'git',
        'node',
        'docker',
        'ssh',
        'tmux',
        'mvnw',
        'gradlew',
        'mvn',
        'java',
        'sh',
        'supervisor',
      ]) {
        write(aim, name, script)
        chmodSync(join(dir, name), 0o755)
      }
      const code = `require('fs').writeFileSync(${JSON.stringify(marker)}, '')\n`
      for (const name of ['commander', 'yaml', 'eventsource-parser', 'fastify']) {
        mkdirSync(join(dir, 'node_modules', name), { recursive: true })
        write(aim, `node_modules/${name}/index.js`, code)
      }
      write(aim, 'run.cjs', code)
      write(
        aim,
        'package.json',
        '{"type": "module", "imports": {"#x": "./run.cjs"}, "scripts": {"start": "./git"}}',
      )
      write(aim, 'pom.xml', '<project/>\n')
      write(aim, 'supervisor.yaml', {
        processes: {
          web: { cmd: `: > ${marker}`, healthcheck: { exec: `: > ${marker}` }, env_file: '../home/.npmrc' },
        },
      })
    },
  ],
  ['a Procfile whose commands run', (aim) => write(aim, 'Procfile', `web: : > ${aim.marker}\n`)],
  [
    'a process-compose file whose commands run',
    (aim) =>
      write(aim, 'process-compose.yaml', {
        processes: { web: { command: `: > ${aim.marker}`, log_location: aim.marker } },
      }),
  ],
]

/** Folders designed to attack a user who enters them. */
export const HOSTILE_FOLDERS: readonly (readonly [string, Fill])[] = [
  ...addresses,
  ...parsers,
  ...kinds,
  ...impostors,
]
