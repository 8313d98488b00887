import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseEnvFile } from '../../../src/supervisor/process/env-file.ts'
import { proposeConfig } from '../../../src/supervisor/config-file/propose-config.ts'
import { loadSupervisorConfig } from '../../../src/supervisor/index.ts'
import { tempDir } from '../../support/temp-dir.ts'

function load(content: string, name = 'supervisor.yaml', environment: Record<string, string> = {}) {
  const dir = tempDir()
  writeFileSync(join(dir, name), content)
  return { dir, ...loadSupervisorConfig({ HOME: dir, ...environment }, { cwd: dir }) }
}

describe('an invalid configuration is refused with the reason', () => {
  test.each([
    [
      'a circle',
      'processes: {a: {cmd: x, depends_on: {b: started}}, b: {cmd: x, depends_on: {a: started}}}',
      'has a cycle: a → b → a',
    ],
    ['a command under the key of process-compose', 'processes: {a: {command: x}}', 'did you mean "cmd"?'],
    ['an unknown key', 'processes: {a: {cmd: x, restrat: never}}', 'did you mean "processes.a.restart"'],
    [
      'an unknown process',
      'processes: {web: {cmd: x}, b: {cmd: x, depends_on: {wbe: started}}}',
      'did you mean "web"?',
    ],
    [
      'a health condition without a check',
      'processes: {a: {cmd: x}, b: {cmd: x, depends_on: {a: healthy}}}',
      '"a" has no healthcheck',
    ],
    [
      'two probes in one check',
      'processes: {a: {cmd: x, healthcheck: {tcp: "1", exec: "true"}}}',
      'must have one of exec, http, tcp and log',
    ],
    ['a schedule that is none', 'processes: {a: {cmd: x, schedule: "often"}}', 'is not a valid schedule'],
    ['a name that is a path', 'processes: {../a: {cmd: x}}', 'process name "../a" must be'],
    [
      'a name that replicas also have',
      'processes: {a: {cmd: x, replicas: 2}, a-2: {cmd: x}}',
      'two processes are named "a-2"',
    ],
    [
      'a shared subdomain',
      'processes: {a: {cmd: x, proxy: {port: 1}}, b: {cmd: x, proxy: {port: 2, subdomain: a}}}',
      'have the same subdomain, "a"',
    ],
    [
      'N6 a shared port',
      'processes: {a: {cmd: x, proxy: {port: 17311}}, b: {cmd: x, proxy: {port: 17311}}}',
      'process "b" and process "a" have the same port, 17311',
    ],
    [
      'N6 a port that a replica has',
      'processes: {a: {cmd: x, replicas: 3, proxy: {port: 17311}}, b: {cmd: x, proxy: {port: 17313}}}',
      'process "b" and process "a-3" have the same port, 17313',
    ],
    [
      'N6 a port of the proxy',
      '{proxy: {enabled: true, port: 17311}, processes: {a: {cmd: x, proxy: {port: 17311}}}}',
      'process "a" and the proxy have the same port, 17311',
    ],
    [
      'N6 a port of the API',
      '{api: {port: 17311}, processes: {a: {cmd: x, proxy: {port: 17311}}}}',
      'process "a" and the API have the same port, 17311',
    ],
    [
      'N6 a shared port of processes that wait for each other to start',
      'processes: {a: {cmd: x, proxy: {port: 17311}}, b: {cmd: x, depends_on: {a: started}, proxy: {port: 17311}}}',
      'process "b" and process "a" have the same port, 17311',
    ],
    [
      'N6 a shared port of a process that waits for the end of one that depends on the other',
      `processes: {a: {cmd: x, proxy: {port: 17311}}, m: {cmd: x, depends_on: {a: started}},
        b: {cmd: x, depends_on: {m: completed}, proxy: {port: 17311}}}`,
      'process "b" and process "a" have the same port, 17311',
    ],
    [
      'N6 a port of the API on all addresses',
      '{api: {host: "::", port: 17311}, processes: {a: {cmd: x, proxy: {port: 17311}}}}',
      'process "a" and the API have the same port, 17311',
    ],
    [
      'a port of a replica above the maximum',
      'processes: {a: {cmd: x, replicas: 3, proxy: {port: 65534}}}',
      'process "a-3" has the port 65536, above the maximum of 65535',
    ],
    [
      'a trusted proxy that is none',
      '{proxy: {trusted_proxies: [10.0.0.0/33]}, processes: {a: {cmd: x}}}',
      '"proxy.trusted_proxies": "10.0.0.0/33" is not an IP address or CIDR range',
    ],
    ['a group that is a path', 'processes: {a: {cmd: x, groups: [../a]}}', '"processes.a.groups" has "../a"'],
    ['no command', 'processes: {a: {}}', "must have required property 'cmd'"],
  ])('config check names %s', (_what, content, message) => {
    expect(() => load(content)).toThrow(message)
  })
})

test.each([
  [
    'one that does not start by itself',
    'processes: {a: {cmd: x, proxy: {port: 17311}}, b: {cmd: x, autostart: false, proxy: {port: 17311}}}',
  ],
  [
    'one that starts when the other has completed',
    'processes: {b: {cmd: x, depends_on: {a: completed}, proxy: {port: 17311}}, a: {cmd: x, proxy: {port: 17311}}}',
  ],
  [
    'one that depends on one that starts when the other has completed',
    `processes: {a: {cmd: x, proxy: {port: 17311}}, m: {cmd: x, depends_on: {a: completed}},
      b: {cmd: x, depends_on: {m: started}, proxy: {port: 17311}}}`,
  ],
  [
    'the API on another address',
    '{api: {host: 127.0.0.2, port: 17311}, processes: {a: {cmd: x, proxy: {port: 17311}}}}',
  ],
  [
    'the proxy on another address',
    '{proxy: {enabled: true, host: 127.0.0.2, port: 17311}, processes: {a: {cmd: x, proxy: {port: 17311}}}}',
  ],
])('a process may have the port of %s', (_what, content) => {
  expect(load(content).config.processes.length).toBeGreaterThan(0)
})

test('a Procfile becomes processes that stop together, each with a port', () => {
  const { config } = load('# all\nweb: node server.js $PORT\nworker: node worker.js\n', 'Procfile')
  const together = { restart: 'never', abortOn: ['failure', 'success'] }
  expect(config.processes).toMatchObject([
    { name: 'web', command: 'node server.js $PORT', env: { PORT: '5000' }, ...together },
    { name: 'worker', env: { PORT: '5100' }, ...together },
  ])
})

test.each([
  ['web node server.js', 'line 1 is not of the form "name: command"'],
  [
    'web.1: x',
    'line 1 is not of the form "name: command"; names have letters, digits, dashes and underscores',
  ],
  ['web:', 'line 1 is not of the form "name: command"'],
  ['web: x\n\nweb: y', 'line 3 has a second process "web"'],
])('the Procfile %j is refused', (content, message) => {
  expect(() => load(content, 'Procfile')).toThrow(message)
})

test('PORT in .env is the first port of a Procfile and takes precedence over the shell', () => {
  const dir = tempDir()
  writeFileSync(join(dir, 'Procfile'), 'web: x\nworker: y\n')
  const ports = (): readonly (string | undefined)[] =>
    loadSupervisorConfig({ HOME: dir, PORT: '9000' }, { cwd: dir }).config.processes.map(
      ({ env }) => env['PORT'],
    )
  expect(ports()).toEqual(['9000', '9100'])
  writeFileSync(join(dir, '.env'), 'PORT=7000\n')
  expect(ports()).toEqual(['7000', '7100'])
  writeFileSync(join(dir, '.env'), 'nothing\n')
  expect(ports).toThrow('.env cannot be read: line 1 is not of the form NAME=value')
})

describe.each([
  ['the Procfile', (dir: string, PORT?: string) => loadSupervisorConfig({ HOME: dir, PORT }, { cwd: dir })],
  ['init', (dir: string, PORT?: string) => proposeConfig(dir, { PORT })],
])('%s with an unusable PORT', (_face, read) => {
  const folder = (env: string): string => {
    const dir = tempDir()
    writeFileSync(join(dir, 'Procfile'), '\uFEFFweb: x\n\nworker: y\n')
    if (env !== '') writeFileSync(join(dir, '.env'), env)
    return dir
  }

  test.each(['http', '0', '-1', '65536', '80.5', '0x50', '1e3', ' 80 x'])('%j is refused', (text) => {
    const why = `PORT "${text.trim()}" in`
    const file = folder(`PORT=${text}\n`)
    expect(() => read(file)).toThrow(`${why} ${join(file, '.env')} is not a port from 1 to 65535`)
    expect(() => read(folder(''), text.trim())).toThrow(`${why} the environment is not a port`)
  })

  test('too high for all processes is refused', () => {
    expect(() => read(folder('PORT=65436\n'))).toThrow(
      'Procfile: line 3 gives "worker" the port 65536, above the maximum of 65535; start at a lower PORT than 65436',
    )
    expect(() => read(folder('PORT=65435\n'))).not.toThrow()
  })

  test('that is empty is none', () => {
    expect(() => read(folder('PORT=\n'))).not.toThrow()
  })
})

test('the environment overrides the file', () => {
  const { config } = load('api: {port: 1}', 'supervisor.yaml', {
    SUPERVISOR_API__PORT: '2',
    SUPERVISOR_PROXY__ENABLED: 'true',
  })
  expect([config.api.port, config.proxy.enabled]).toEqual([2, true])
})

test('an env file is parsed as shells and other tools do', () => {
  const content = `# comment\nA=plain # why\nexport B='as $A is'\nC="two\\nlines of $A"\nD=\${MISSING:-else}\nE=\${EMPTY-set}\nF=$$A\nG=\nH="a key\nof two lines" # why\nI='$A\n"two"'\n`
  expect({ ...parseEnvFile(content, { EMPTY: '' }) }).toEqual({
    A: 'plain',
    B: 'as $A is',
    C: 'two\nlines of plain',
    D: 'else',
    E: '',
    F: '$$A',
    G: '',
    H: 'a key\nof two lines',
    I: '$A\n"two"',
  })
  expect(() => parseEnvFile('A="1\n2"\nnothing\n', {})).toThrow('line 3 is not of the form NAME=value')
})

test('init writes a valid configuration', () => {
  const dir = tempDir()
  mkdirSync(join(dir, 'x'))
  writeFileSync(
    join(dir, 'package.json'),
    JSON.stringify({ scripts: { dev: 'vite', 'start:api': 'node .', test: 'vitest' } }),
  )
  const { text, processes } = proposeConfig(dir, {})
  expect(processes).toEqual(['dev', 'start-api'])
  expect(load(text).config.processes).toMatchObject([
    { name: 'dev', command: 'npm run dev' },
    { command: 'npm run start:api' },
  ])
  expect(load(proposeConfig(join(dir, 'x'), {}).text).config.processes).toHaveLength(1)
  writeFileSync(join(dir, 'x/Procfile'), 'web: node . $PORT\n')
  const expected = [{ command: 'node . $PORT', restart: 'always', env: { PORT: '5000' } }]
  expect(load(proposeConfig(join(dir, 'x'), {}).text).config.processes).toMatchObject(expected)
})

test('init keeps the ports of a Procfile, which come from .env, or else from the shell', () => {
  const dir = tempDir()
  writeFileSync(join(dir, 'Procfile'), 'web: x\nworker: y\n')
  const ports = (environment: Record<string, string>) =>
    load(proposeConfig(dir, environment).text).config.processes.map(({ env }) => env['PORT'])
  expect(ports({})).toEqual(['5000', '5100'])
  expect(ports({ PORT: '9000' })).toEqual(['9000', '9100'])
  writeFileSync(join(dir, '.env'), 'PORT=17300\n')
  expect(ports({ PORT: '9000' })).toEqual(['17300', '17400'])
  writeFileSync(join(dir, '.env'), 'nothing\n')
  expect(() => ports({})).toThrow(`${join(dir, '.env')} cannot be read: line 1 is not of the form`)
})

test('the command line sets the number of replicas', () => {
  const dir = tempDir()
  writeFileSync(join(dir, 'Procfile'), 'web: x\nworker: y\n')
  const names = (scale: Readonly<Record<string, number>>) =>
    loadSupervisorConfig({ HOME: dir }, { cwd: dir, scale }).config.processes.map(({ name, env }) => [
      name,
      env['PORT'],
    ])
  expect(names({ web: 2 })).toEqual([
    ['web-1', '5000'],
    ['web-2', '5001'],
    ['worker', '5100'],
  ])
  expect(() => names({ wbe: 2 })).toThrow('process "wbe" does not exist; did you mean "web"?')
  expect(() => names({ toString: 2 })).toThrow('process "toString" does not exist')
  expect(() => names({ web: 0 })).toThrow('"processes.web.replicas" must be >= 1')
})

describe('a file whose processes have `command`', () => {
  const named = (content: string) => {
    const dir = tempDir()
    const file = join(dir, 'project.yaml')
    writeFileSync(file, content)
    return loadSupervisorConfig({ HOME: dir }, { file })
  }

  test.each(['api: {port: 5556}', 'log: {dir: logs}', 'proxy: {enabled: true}'])(
    'was taken for a process-compose file, so its own keys were ignored: %s',
    (own) =>
      expect(() => named(`${own}\nprocesses: {a: {command: x}}\n`)).toThrow(
        '"processes.a.command" is unknown; did you mean "cmd"?',
      ),
  )

  test('is a process-compose file without such keys', () =>
    expect(named('version: "0.5"\nprocesses: {a: {command: x}}\n').config.processes[0]?.command).toEqual([
      'bash',
      '-c',
      'x',
    ]))
})

test.each([
  ['process-compose.yaml', 'processes: {a: {command: x}}', 1],
  ['supervisor.yaml', 'processes: {a: {cmd: x}}', 1],
  ['supervisor.yaml', 'processes: {a: {cmd: x, proxy: {port: 3000}}, b: {cmd: x}}', 0],
  ['Procfile', 'a: x\n', 0],
])('a proxy without any subdomain answered 404 in silence: %s: %s', (name, content, count) => {
  const { warnings } = load(content, name, { SUPERVISOR_PROXY__ENABLED: 'true' })
  expect(warnings.filter((each) => each.includes('no process has a subdomain'))).toHaveLength(count)
})
