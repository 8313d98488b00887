import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { found } from '../../support/workspace/dev-container.ts'

test('a devcontainer.json is read with comments and trailing commas', () => {
  const text = `// what this is
  {
    "name": "x", /* ignored */
    "image": "node:24",
    "containerEnv": { "A": "1", "B": "2" },
    "remoteEnv": { "B": "3", "DIR": "\${containerWorkspaceFolder}/x:\${localWorkspaceFolder}" },
    "forwardPorts": [3000, "localhost:8080", "8081", 3000],
    "postCreateCommand": "npm ci",
  }`
  expect(found(text)).toEqual({
    image: 'node:24',
    environment: { A: '1', B: '2' },
    remoteEnvironment: { B: '3', DIR: '/workspace/x:/workspace' },
    buildReference: undefined,
    build: undefined,
    featureEnvironment: {},
    forwardPorts: [3000, 8080, 8081],
    user: undefined,
    placement: { folder: '/workspace', link: undefined, directories: [] },
    featureReferences: [],
    features: [],
    steps: [
      {
        command: 'postCreateCommand',
        programs: [{ name: 'postCreateCommand', argv: ['/bin/sh', '-c', 'npm ci'] }],
        isInvalid: false,
      },
    ],
    userEnvProbe: 'loginInteractiveShell',
    invalid: [],
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
  for (const nothing of [undefined, null, '', ' ', [], {}]) expect(commands(nothing)).toEqual([])
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
  'dockerComposeFile service runServices overrideFeatureInstallOrder initializeCommand updateRemoteUserUID runArgs appPort portsAttributes otherPortsAttributes capAdd securityOpt privileged overrideCommand shutdownAction waitFor hostRequirements secrets'.split(
    ' ',
  )

test.each(UNSUPPORTED)('unsupported %s is noted', (key) => {
  expect(found({ [key]: 'x' }).notes).toEqual([expect.stringMatching(`^${key} is not supported`)])
})

test.each([
  [{ remoteUser: 'vscode', containerUser: 'root' }, 'vscode', []],
  [{ containerUser: 'node' }, 'node', []],
  [{ remoteUser: '', containerUser: 1000 }, '1000', []],
  [{ remoteUser: null }, undefined, []],
  [{ remoteUser: ['a'], containerUser: 'b' }, 'b', ['remoteUser']],
  [{ remoteUser: '-u root' }, undefined, ['remoteUser']],
  [{ remoteUser: 'a:b\0' }, undefined, ['remoteUser']],
])('the user of %j is %j', (content, user, ignored) => {
  const config = found(content)
  expect(config.user).toBe(user)
  expect(config.invalid).toEqual(ignored.map((key) => `${key} is not a user's name or number and is ignored`))
})

test.each([
  ['the default', {}, '/workspace', undefined],
  ['a directory below', { workspaceFolder: '/workspace/a/../b/' }, '/workspace/a/../b/', undefined],
  [
    'a directory that is not the default place',
    { workspaceFolder: '/workspaces/../etc' },
    '/workspaces/../etc',
    undefined,
  ],
  ['the default place', { workspaceFolder: '/workspaces/app/src' }, '/workspaces/app/src', '/workspaces/app'],
  [
    'the default place by its reference',
    { workspaceFolder: '/workspaces/${localWorkspaceFolderBasename}' },
    '/workspaces/workspace',
    '/workspaces/workspace',
  ],
  ['another directory of the image', { workspaceFolder: '/srv' }, '/srv', undefined],
  [
    'a mount',
    {
      workspaceFolder: '/code/sub',
      workspaceMount: 'source=${localWorkspaceFolder},target=/code/,type=bind,consistency=cached',
    },
    '/code/sub',
    '/code',
  ],
  [
    'a mount with short names',
    { workspaceMount: 'type=bind, SRC=${localWorkspaceFolder}, dst=/code' },
    '/workspace',
    '/code',
  ],
  [
    'a mount at the same place',
    { workspaceMount: 'type=bind,source=${localWorkspaceFolder},target=/workspace' },
    '/workspace',
    undefined,
  ],
])('the folder is found for %s', (_what, content, folder, link) => {
  const { placement, notes, invalid } = found(content)
  expect(placement).toEqual({ folder, link, directories: [] })
  expect([...notes, ...invalid]).toEqual([])
})

test.each([
  'type=volume,source=x,target=/code',
  'type=bind,source=/etc,target=/code',
  'type=bind,source=${localWorkspaceFolder}/..,target=/code',
  'type=bind,source=${localWorkspaceFolder},target=code',
  '',
  7,
])('workspaceMount %j is not supported', (workspaceMount) => {
  const { placement, notes } = found({ workspaceMount, workspaceFolder: '/workspaces/app' })
  expect(placement).toMatchObject({ folder: '/workspaces/app', link: undefined })
  expect(notes).toEqual(['workspaceMount is not supported: files are in /workspace'])
})

test.each([5, ['/x'], 'relative', '/a\nb', '/a\0'])('workspaceFolder %j is ignored', (workspaceFolder) => {
  const { placement, invalid } = found({ workspaceFolder })
  expect(placement.folder).toBe('/workspace')
  expect(invalid).toEqual(['workspaceFolder is not an absolute path and is ignored'])
})

test('commands and variables refer to the folder inside', () => {
  const { environment, steps } = found({
    workspaceFolder: '/workspaces/app',
    containerEnv: {
      A: '${containerWorkspaceFolder} ${containerWorkspaceFolderBasename} ${localWorkspaceFolder}',
    },
    onCreateCommand: ['${containerWorkspaceFolder}/run'],
  })
  expect(environment).toEqual({ A: '/workspaces/app app /workspace' })
  expect(steps[0]?.programs[0]?.argv).toEqual(['/workspaces/app/run'])
})

test.each([
  ['a volume as a text', ['type=volume,target=/data'], ['/data'], []],
  ['a volume of a file', ['source=${devcontainerId}-x,target=/data,type=volume'], ['/data'], []],
  ['a volume as an object', [{ type: 'volume', target: '/data/../data' }], ['/data'], []],
  ['a volume with a name', ['type=volume,source=history,target=/h'], ['/h'], [/^mounts: \/h is a directory/]],
  ['a tmpfs', [{ type: 'tmpfs', target: '/t' }], ['/t'], []],
  ['a directory of the host', ['type=bind,source=/,target=/host'], [], [/^mounts: \/host is not mounted/]],
  [
    'a socket of the host',
    [{ type: 'bind', source: '/var/run/docker.sock', target: '/s' }],
    [],
    [/\/s is not/],
  ],
  ['an unknown type', ['type=npipe,target=/x'], [], [/^mounts: \/x is not mounted/]],
  ['no target', ['type=volume'], [], [/^mounts\[0\] has no absolute target/]],
  ['the root directory', ['target=/..'], [], [/^mounts\[0\] has no absolute target/]],
  ['another value', [7], [], [/^mounts\[0\] has no absolute target/]],
  ['a text', 'target=/x', [], [/^mounts is a string, not a list/]],
  ['null', null, [], []],
])('mounts with %s', (_what, mounts, directories, said) => {
  const { placement, notes, invalid } = found({ mounts })
  expect(placement.directories).toEqual(directories)
  expect([...notes, ...invalid]).toEqual(said.map((each) => expect.stringMatching(each)))
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

const NOT_TEXT = 'not a text, and is ignored'
const NULL_TEXT = 'becomes the text "null"'
const IGNORED = 'and is ignored'
const IS_SKIPPED = 'fails and the commands after it are skipped'

// Each entry was measured with the official CLI 0.89.0; a complete run of both is in dev-container.foreign.test.ts.
test.each<readonly [unknown, object, readonly string[]]>([
  [{ containerEnv: { A: 3000, B: 1.5, C: 1e21, D: -0 } }, { A: '3000', B: '1.5', C: '1e+21', D: '0' }, []],
  [{ containerEnv: { A: true, B: false } }, { A: 'true', B: 'false' }, []],
  [{ containerEnv: { A: null } }, { A: 'null' }, [NULL_TEXT]],
  [{ remoteEnv: { A: 5, B: null, C: false } }, { A: '5', B: 'null', C: 'false' }, [NULL_TEXT]],
  [{ containerEnv: { A: [1, null, ['z', true]] } }, { A: '1,,z,true' }, []],
  [{ containerEnv: { A: { b: 1 }, OK: 'yes' } }, { OK: 'yes' }, [`containerEnv.A is an object, ${NOT_TEXT}`]],
  [{ remoteEnv: { A: [{}], OK: 'yes' } }, { OK: 'yes' }, [`remoteEnv.A is a list, ${NOT_TEXT}`]],
  [
    { containerEnv: { 'A-B': 'x', 'C D': 'y', 'Ä.1': 'z', '1': 'w' } },
    { 'A-B': 'x', 'C D': 'y', 'Ä.1': 'z', '1': 'w' },
    [],
  ],
  [{ containerEnv: { 'A=B': 'x', 'C=': 'y' } }, { A: 'B=x', C: '=y' }, []],
  [{ containerEnv: { '': 'x', '=A': 'x', OK: 'yes' } }, { OK: 'yes' }, ['without a name', 'without a name']],
  [{ containerEnv: { A: 'x\0y', 'B\0': 'x', OK: 'yes' } }, { OK: 'yes' }, ['NUL byte', 'NUL byte']],
  [{ containerEnv: { A: 'x'.repeat(131_071), OK: 'yes' } }, { OK: 'yes' }, ['longer than 131071 bytes']],
  [{ containerEnv: { A: 'x\ny' } }, { A: 'x\ny' }, []],
  [{ containerEnv: [] }, {}, [`containerEnv is a list, not an object, ${IGNORED}`]],
  [{ containerEnv: ['a', 'b'] }, { 0: 'a', 1: 'b' }, ['its variables are named 0, 1 and so on']],
  [{ remoteEnv: 'ab' }, { 0: 'a', 1: 'b' }, ['its variables are named 0, 1 and so on']],
  ...[null, 5, true, ''].map((value) => [{ remoteEnv: value }, {}, [`not an object, ${IGNORED}`]] as const),
])('the environment of %j is %j', (content, environment, invalid) => {
  const config = found(content)
  expect({ ...config.environment, ...config.remoteEnvironment }).toEqual(environment)
  expect(config.invalid).toEqual(invalid.map((each) => expect.stringContaining(each)))
})

const MADE = { name: 'a', argv: ['/bin/sh', '-c', 'echo made'] }

test.each<readonly [unknown, object | undefined, readonly string[]]>([
  ...[7, true, false, null].map(
    (value) => [value, undefined, [`not a text, a list or an object, ${IGNORED}`]] as const,
  ),
  [
    { a: 'echo made', b: 5 },
    { programs: [MADE], isInvalid: true },
    [`b is a number, not a text or a list of texts, so postCreateCommand ${IS_SKIPPED}`],
  ],
  [{ a: 'echo made', b: null }, { programs: [MADE], isInvalid: true }, [IS_SKIPPED]],
  [
    { a: 'echo made', b: [] },
    { programs: [MADE], isInvalid: true },
    [`b is an empty list, so postCreateCommand ${IS_SKIPPED}`],
  ],
  [{ a: 'echo made', b: { c: 'x' } }, { programs: [MADE], isInvalid: true }, [IS_SKIPPED]],
  [{ a: 'echo made', b: 'x\0' }, { programs: [MADE], isInvalid: true }, ['contains a NUL byte']],
  [{ a: '' }, { programs: [{ name: 'a', argv: ['/bin/sh', '-c', ''] }], isInvalid: false }, []],
  [
    ['touch', 5, null, ['x', 'y']],
    { programs: [{ name: 'postCreateCommand', argv: ['touch', '5', 'null', 'x,y'] }] },
    [],
  ],
  [
    ['touch', {}],
    { programs: [], isInvalid: true },
    [`postCreateCommand contains an object, so postCreateCommand ${IS_SKIPPED}`],
  ],
])('the command %j is %j', (value, step, invalid) => {
  const config = found({ postCreateCommand: value })
  expect(config.steps[0]).toEqual(step === undefined ? undefined : expect.objectContaining(step))
  expect(config.invalid).toEqual(invalid.map((each) => expect.stringContaining(each)))
})

test.each<readonly [unknown, object, readonly string[]]>([
  ...[null, 5, false, ['node:24'], {}].map(
    (image) => [{ image }, { image: undefined }, [`image is .*, not a text, ${IGNORED}`]] as const,
  ),
  [{ image: '' }, { image: undefined }, [`image is empty ${IGNORED}`]],
  [{ forwardPorts: '8000' }, { forwardPorts: [8000] }, []],
  [{ forwardPorts: 8000 }, { forwardPorts: [8000] }, []],
  ...[null, true, { a: 1 }].map(
    (value) =>
      [
        { forwardPorts: value },
        { forwardPorts: [] },
        [`forwardPorts is .*, not a list, ${IGNORED}`],
      ] as const,
  ),
  ...['none', 'loginShell', 'interactiveShell', 'loginInteractiveShell'].map(
    (value) => [{ userEnvProbe: value }, { userEnvProbe: value }, []] as const,
  ),
  ...[null, '', 0].map(
    (value) =>
      [
        { userEnvProbe: value },
        { userEnvProbe: 'loginInteractiveShell' },
        ['loginInteractiveShell is used'],
      ] as const,
  ),
  ...['foo', 5, {}].map(
    (value) => [{ userEnvProbe: value }, { userEnvProbe: 'none' }, ['none is used']] as const,
  ),
])('%j is read as %j', (content, expected, invalid) => {
  const config = found(content)
  expect(config).toMatchObject(expected)
  expect(config.invalid).toEqual(invalid.map((each) => expect.stringMatching(each)))
})

/** Entries that are odd in one way each, by their key. */
const ODD: Readonly<Record<string, readonly unknown[]>> = {
  build: ['x', 5, [], { dockerfile: 5 }],
  image: [null, 5, [], {}],
  containerEnv: [[], 'x', 5, null, { A: {} }, { '': 1 }, { A: '\0' }],
  remoteEnv: [[], 'x', 5, null, { A: [{}] }],
  forwardPorts: ['8000', 8000, null, {}, [null]],
  onCreateCommand: [7, true, null, [{}], { a: 5 }],
  postStartCommand: [7, true, null, [{}], { a: 5 }],
  userEnvProbe: ['x', 5, null],
  remoteUser: [[], {}, ' '],
  features: [[], 5, 'x'],
  mounts: [5, [5], {}],
  workspaceFolder: [5, 'x'],
  workspaceMount: [5, null],
}

test('no odd entry loses the others', () => {
  const usable = { image: 'node:24', containerEnv: { OK: 'yes' }, postCreateCommand: 'echo made' }
  const odd = fc.record(
    Object.fromEntries(Object.entries(ODD).map(([key, values]) => [key, fc.constantFrom(...values)])),
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(odd, fc.constantFrom('', '\uFEFF', '\uFEFF\uFEFF'), (entries, mark) => {
      const { image, environment, steps, invalid, notes } = found(
        mark + JSON.stringify({ ...usable, ...entries }),
      )
      if (!('image' in entries)) expect(image).toBe('node:24')
      if (!('containerEnv' in entries)) expect(environment).toEqual({ OK: 'yes' })
      expect(steps.map(({ command }) => command)).toContain('postCreateCommand')
      const isSilent = ([key, value]: readonly [string, unknown]) =>
        key === 'forwardPorts' && Number(value) === 8000
      const reported = Object.entries(entries).filter((each) => !isSilent(each))
      for (const [key] of reported)
        expect([...invalid, ...notes]).toContainEqual(expect.stringMatching(`^${key}\\b`))
    }),
  )
})

test.each([
  ['a missing comma', '{"image":"x" "postCreateCommand":"y"}', 'CommaExpected in line 1'],
  ['a missing end', '{"image":"x",\n"postCreateCommand":"y"', 'CloseBraceExpected in line 2'],
  ['text after its end', '{"image":"x","postCreateCommand":"y"} more', 'InvalidSymbol in line 1'],
  ['a word', '{"a": undefined, "image":"x","postCreateCommand":"y"}', 'InvalidSymbol in line 1'],
])('what can be read is used of a file with %s', (_what, text, why) => {
  const { image, steps, invalid } = found(text)
  expect({ image, commands: steps.map(({ command }) => command) }).toEqual({
    image: 'x',
    commands: ['postCreateCommand'],
  })
  expect(invalid).toEqual([`it is not valid JSON: ${why}; only what can be read is used`])
})
