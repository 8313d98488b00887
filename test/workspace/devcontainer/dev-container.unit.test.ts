import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { parseDevContainer } from '../../../src/workspace/devcontainer/dev-container.ts'

const read = (content: unknown) =>
  parseDevContainer(typeof content === 'string' ? content : JSON.stringify(content), '/workspace')
const found = (content: unknown) => {
  const reading = read(content)
  if (reading.is !== 'found') throw new Error(JSON.stringify(reading))
  return reading.config
}

test('a devcontainer.json is read with comments and trailing commas', () => {
  const text = `// what this is
  {
    "name": "x", /* ignored */
    "image": "node:24",
    "containerEnv": { "A": "1", "B": "2" },
    "remoteEnv": { "B": "3", "C": null, "DIR": "\${containerWorkspaceFolder}/x:\${localWorkspaceFolder}" },
    "forwardPorts": [3000, "localhost:8080", "8081", 3000],
    "postCreateCommand": "npm ci",
  }`
  expect(found(text)).toEqual({
    image: 'node:24',
    environment: { A: '1', B: '3', DIR: '/workspace/x:/workspace' },
    forwardPorts: [3000, 8080, 8081],
    steps: [
      {
        command: 'postCreateCommand',
        programs: [{ name: 'postCreateCommand', argv: ['/bin/sh', '-c', 'npm ci'] }],
      },
    ],
    notes: [],
  })
})

const COMMANDS = [
  'onCreateCommand',
  'updateContentCommand',
  'postCreateCommand',
  'postStartCommand',
  'postAttachCommand',
]

test.each(COMMANDS)('%s is a string, a list or an object of both', (key) => {
  const commands = (value: unknown) => found({ [key]: value }).steps.flatMap(({ programs }) => programs)
  expect(commands('npm ci')).toEqual([{ name: key, argv: ['/bin/sh', '-c', 'npm ci'] }])
  expect(commands(['npm', 'ci'])).toEqual([{ name: key, argv: ['npm', 'ci'] }])
  expect(commands({ a: 'one && two', b: ['three'] })).toEqual([
    { name: 'a', argv: ['/bin/sh', '-c', 'one && two'] },
    { name: 'b', argv: ['three'] },
  ])
  for (const nothing of [undefined, null, '', {}]) expect(commands(nothing)).toEqual([])
})

test('commands run in the specification’s order, not the file’s', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(COMMANDS), (keys) => {
      const { steps } = found(Object.fromEntries(keys.map((key) => [key, 'true'])))
      expect(steps.map(({ command }) => command)).toEqual(COMMANDS.filter((key) => keys.includes(key)))
    }),
  )
})

// Every property of the reference that changes the workspace:
// https://containers.dev/implementors/json_reference/
const UNSUPPORTED =
  'build dockerFile context dockerComposeFile service runServices features overrideFeatureInstallOrder initializeCommand remoteUser containerUser updateRemoteUserUID mounts workspaceMount workspaceFolder runArgs appPort portsAttributes otherPortsAttributes capAdd securityOpt privileged overrideCommand shutdownAction waitFor userEnvProbe hostRequirements secrets'.split(
    ' ',
  )

test.each(UNSUPPORTED)('unsupported %s is noted', (key) => {
  expect(found({ [key]: 'x' }).notes).toEqual([expect.stringMatching(`^${key} is not supported`)])
})

test('a command that runs only once is noted', () => {
  expect(found({ postStartCommand: 'a', postAttachCommand: 'b' }).notes).toEqual([
    'postStartCommand runs only after the creation',
    'postAttachCommand runs only after the creation',
  ])
})

test('a property without effect is not noted', () => {
  const harmless = { name: 'x', $schema: 'x', customizations: {}, init: true, unknown: 1, constructor: 1 }
  expect(found({ ...harmless, workspaceFolder: '/workspace' }).notes).toEqual([])
})

test.each(['local', 'container'])('${%sWorkspaceFolder} is the folder as seen from inside', (whose) => {
  const containerEnv = { A: `\${${whose}WorkspaceFolder}/x`, B: `\${${whose}WorkspaceFolderBasename}` }
  expect(found({ containerEnv })).toMatchObject({
    environment: { A: '/workspace/x', B: 'workspace' },
    notes: [],
  })
})

test('a port outside the workspace is noted, and the others are forwarded', () => {
  const { forwardPorts, notes } = found({ forwardPorts: ['db:5432', 0, 65_536, -1, 1.5, null, 443] })
  expect(forwardPorts).toEqual([443])
  expect(notes).toHaveLength(6)
  expect(notes[0]).toBe('forwardPorts: "db:5432" is not supported: it is not a port of the workspace itself')
})

test('W12 a variable of the server is not exposed', () => {
  const { environment, notes } = found({
    remoteEnv: { KEY: '${localEnv:HOME}', PATH: '${containerEnv:PATH}:/x' },
  })
  expect(environment).toEqual({})
  expect(notes).toEqual([
    'remoteEnv.KEY contains an unknown reference and is ignored',
    'remoteEnv.PATH contains an unknown reference and is ignored',
  ])
})

test.each([
  ['{"image": ', 'it is not valid JSON: ValueExpected in line 1'],
  ['{\n"a": 1\n"b": 2}', 'it is not valid JSON: CommaExpected in line 3'],
  ['', 'it is not valid JSON: ValueExpected in line 1'],
  ['[]', 'it is not an object'],
  [{ image: 1 }, 'image must be a string'],
  [{ containerEnv: [] }, 'containerEnv must be an object'],
  [{ containerEnv: { A: 1 } }, 'containerEnv.A must be a string'],
  [{ containerEnv: { A: 'x\0y' } }, 'containerEnv.A must be a string'],
  [{ containerEnv: { 'A=B': 'x' } }, 'containerEnv has a bad name'],
  [{ forwardPorts: 3000 }, 'forwardPorts must be a list'],
  [{ postCreateCommand: 1 }, 'postCreateCommand must be a string, a list or an object'],
  [{ postCreateCommand: [] }, 'postCreateCommand must be a string or a list of strings'],
  [{ postCreateCommand: { a: [1] } }, 'postCreateCommand.a must be a string or a list of strings'],
])('%j is unusable: %s', (content, why) => {
  expect(read(content)).toEqual({ is: 'bad', why })
})

const many = (count: number, value: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => value(i)).join(',')
const deep = (levels: number): string => `{"x":${'['.repeat(levels)}${']'.repeat(levels)}}`

test.each([
  ['arrays nested without end', '['.repeat(200_000), 'it is nested more than 32 levels deep'],
  ['objects nested without end', '{"a":'.repeat(40_000), 'it is nested more than 32 levels deep'],
  ['deep nesting of what is not read', deep(32), 'it is nested more than 32 levels deep'],
  ['very many values', `{"x":[${many(10_000, () => '0')}]}`, 'it has more than 10000 values'],
  ['an image in a prototype', '{"__proto__":{"image":"evil"}}', '"__proto__" is not a valid property'],
  ['a prototype by escapes', '{"\\u005f_proto__":{"image":"evil"}}', '"__proto__" is not a valid property'],
  [
    'a prototype of variables',
    '{"containerEnv":{"__proto__":{"A":"1"}}}',
    '"__proto__" is not a valid property',
  ],
  [
    'many variables',
    `{"remoteEnv":{${many(513, (i) => `"A${i}":"x"`)}}}`,
    'remoteEnv has 513 variables, more than 512',
  ],
  [
    'many ports',
    `{"forwardPorts":[${many(257, (i) => `${i + 1}`)}]}`,
    'forwardPorts has 257 ports, more than 256',
  ],
  [
    'many commands',
    `{"postCreateCommand":{${many(33, (i) => `"c${i}":"x"`)}}}`,
    'postCreateCommand has 33 commands, more than 32',
  ],
])('H9 a hostile file is refused: %s', (_what, text, why) => {
  expect(read(text)).toEqual({ is: 'bad', why })
})

test.each([
  ['references', `{"containerEnv":{"A":"${'${'.repeat(120_000)}"}}`],
  ['comments', '/*'.repeat(120_000)],
  ['lines', '\n'.repeat(250_000)],
  ['braces', '}'.repeat(250_000)],
  ['escapes', `{"image":"${'\\u0000'.repeat(40_000)}"}`],
  ['a name of a port', `{"forwardPorts":["${'1'.repeat(250_000)}"]}`],
])('a file full of %s is accepted or refused', (_what, text) => {
  expect(['found', 'bad']).toContain(read(text).is)
})

test('H9 names of Object.prototype are ordinary properties', () => {
  const config = found('{"constructor":{"prototype":{"image":"evil"}},"containerEnv":{"toString":"x"}}')
  expect(config).toMatchObject({ image: undefined, environment: { toString: 'x' } })
  expect(({} as { image?: string }).image).toBeUndefined()
})

test('no content of the file throws', () => {
  expect(read('['.repeat(200_000)).is).toBe('bad')
  const keys = [
    'image',
    'containerEnv',
    'remoteEnv',
    'forwardPorts',
    'postCreateCommand',
    '__proto__',
    'constructor',
  ]
  const content = fc.dictionary(fc.constantFrom(...keys), fc.jsonValue())
  const isRead = (each: unknown) => ['found', 'bad'].includes(read(each).is)
  fc.assert(fc.property(content, isRead))
  fc.assert(fc.property(fc.string(), isRead))
})
