import { describe, expect, test } from 'vitest'
import { TEST_IMAGE } from '../../support/engine/docker.ts'
import { versionOf } from '../../support/foreign/clients.ts'
import { comparable, useBoth } from '../../support/foreign/compare-dev-containers.ts'
import { DEV_CONTAINER_CLI } from '../../support/foreign/dev-container-cli.ts'

const { both, image, textWith } = useBoth()

const ENV = { postCreateCommand: 'env > env' }
const WHO = { postCreateCommand: 'id -un > user; echo $HOME >> user; touch own && stat -c %U own >> user' }
const WHERE = { postCreateCommand: 'pwd > where; echo ${containerWorkspaceFolder} >> where' }
const MADE = { postCreateCommand: 'echo made > mark' }
const say = (text: string): string => `echo ${text} >> said`
const ORDER = {
  postAttachCommand: say('attach'),
  postStartCommand: ['sh', '-c', say('start')],
  postCreateCommand: { one: 'echo 1 > one', two: ['sh', '-c', 'echo 2 > two'] },
  updateContentCommand: say('update'),
  onCreateCommand: say('on'),
}

/** Contents of a file, in which both agree. */
const SAME: Readonly<Record<string, object | (() => string)>> = {
  'a byte order mark': () => `\uFEFF${textWith(MADE)}`,
  'two byte order marks': () => `\uFEFF\uFEFF${textWith(MADE)}`,
  'comments and CRLF': () => `// x\r\n${textWith(MADE)}\r\n/* y */\r\n`,
  'a missing comma': () => textWith(MADE).replace('","', '" "'),
  'a missing end': () => textWith(MADE).slice(0, -1),
  'text after the end': () => `${textWith(MADE)} {"postCreateCommand":"exit 1"}`,
  'a key twice': () => textWith(MADE).replace('{', '{"postCreateCommand":"exit 1",'),
  'numbers, booleans, null and lists in containerEnv': {
    containerEnv: { PORT: 3000, F: 1.5, G: 1e21, T: true, N: null, L: [1, null, ['z']], OK: 'yes' },
    ...ENV,
  },
  'numbers, booleans, null and lists in remoteEnv': {
    remoteEnv: { PORT: 3000, F: false, N: null, L: ['a', 'b'], OK: 'yes' },
    ...ENV,
  },
  'odd names of variables': { containerEnv: { 'A-B': 'x', 'C D': 'y', 'E=F': 'z', 1: 'w' }, ...ENV },
  'lines in variables': { containerEnv: { A: 'x\ny' }, remoteEnv: { B: 'p\nq' }, ...ENV },
  'remoteEnv over containerEnv': { containerEnv: { A: '1', B: '1' }, remoteEnv: { B: '2' }, ...ENV },
  'lists as environments': { containerEnv: ['a', 'b'], remoteEnv: [], ...ENV },
  'texts and numbers as environments': { containerEnv: 'ab', remoteEnv: 5, ...ENV },
  'null for everything optional': {
    containerEnv: null,
    remoteEnv: null,
    forwardPorts: null,
    onCreateCommand: null,
    userEnvProbe: null,
    ...ENV,
  },
  'commands of other types': { onCreateCommand: 7, updateContentCommand: true, ...MADE },
  'empty commands': {
    onCreateCommand: '',
    updateContentCommand: [],
    postStartCommand: {},
    postAttachCommand: ' ',
    ...MADE,
  },
  'numbers and lists as arguments': { postCreateCommand: ['touch', 5, null, ['x', 'y']] },
  'an empty command in an object': {
    postCreateCommand: { a: 'echo made > mark', b: '' },
    postStartCommand: say('start'),
  },
  'ports as a text, features as a list': { forwardPorts: '8000', features: [], ...MADE },
  'ports of other hosts': { forwardPorts: ['db:5432', 8001], ...MADE },
  'all commands in order': ORDER,
  'the default probe': {
    postCreateCommand: 'kit > kit; env > env',
    postStartCommand: ['bash', '-c', 'echo $KIT > k'],
  },
  'userEnvProbe loginShell': { userEnvProbe: 'loginShell', ...ENV },
  'userEnvProbe interactiveShell': { userEnvProbe: 'interactiveShell', ...ENV },
  'userEnvProbe none': { userEnvProbe: 'none', ...ENV },
  'an unknown userEnvProbe': { userEnvProbe: 'x', ...ENV },
  'remoteEnv over the probe': { remoteEnv: { KIT: 'mine', PATH: '${containerEnv:PATH}:/mine' }, ...ENV },
  'containerEnv under the probe': {
    containerEnv: { KIT: 'theirs', PATH: '/theirs:/usr/local/bin:/usr/bin:/bin' },
    ...ENV,
  },
  'references in containerEnv': {
    containerEnv: {
      A: '${localEnv:NOPE:dflt}',
      B: 'x${localEnv:NOPE}y',
      C: '${env:NOPE:d:e}',
      D: '${devcontainerId}',
      E: '${containerWorkspaceFolder} ${containerWorkspaceFolderBasename}',
      F: '${unknown} ${unknown:x} $NOT ${} ${containerEnv:FROM_IMAGE}',
    },
    ...ENV,
  },
  'references in remoteEnv': {
    containerEnv: { W: '${containerWorkspaceFolder}' },
    remoteEnv: {
      A: '${containerEnv:FROM_IMAGE} ${containerEnv:W}',
      B: '${containerEnv:NOPE:def}${containerEnv:NOPE}',
      C: '${remoteEnv:A} ${devcontainerId}',
      D: '[${containerEnv:HOME}]',
    },
    ...ENV,
  },
  'remoteUser root': { remoteUser: 'root', ...WHO },
  'containerUser root': { containerUser: 'root', ...WHO },
  'remoteUser over containerUser': { containerUser: 'root', remoteUser: 'workspace', ...WHO },
  'a user by number': { remoteUser: '0', ...WHO },
  'empty users': { remoteUser: '', containerUser: null, ...WHO },
  'a folder below': { workspaceFolder: '/workspace/.', ...WHERE },
  'files and commands elsewhere': {
    workspaceFolder: '/code/app',
    workspaceMount: 'source=${localWorkspaceFolder},target=/code/app,type=bind',
    ...WHERE,
  },
  'commands in a directory of the image': {
    workspaceFolder: '/opt/kit',
    postCreateCommand: 'pwd > /workspace/where',
  },
  'volumes with and without files of the image': {
    mounts: ['type=volume,target=/opt/kit', { type: 'volume', target: '/var/made' }],
    postCreateCommand:
      'ls -1 -d -l /opt/kit/bin/kit /var/made | cut -c1-10 > listed; stat -c %U /var/made > owner',
  },
  'references in commands': {
    onCreateCommand: 'echo "${containerWorkspaceFolder} ${localEnv:NOPE:d}" > one',
    postCreateCommand: ['sh', '-c', 'echo "${containerWorkspaceFolderBasename}" > two'],
  },
}

/**
 * Files about which both differ on purpose, with the reason and the result here. The official CLI fails for most, and
 * leaves no container or the remaining commands out; a workspace is created in any case, and has a warning.
 */
const DIFFERENT: Readonly<
  Record<
    string,
    {
      readonly why: string
      readonly content: object
      readonly ours: object
      /** Undefined where no entry is ignored. */
      readonly warning: RegExp | undefined
    }
  >
> = {
  'an image that is null': {
    why: 'the default image is used where the CLI looks for one that it would have built',
    content: { image: null, ...MADE },
    ours: { image: TEST_IMAGE, files: { mark: 'made\n' } },
    warning: /image is null, not a text, and is ignored/,
  },
  'an image in a list': {
    why: 'the CLI accepts it by accident, as it does not check the type',
    content: { image: [image], ...MADE },
    ours: { image: TEST_IMAGE, files: { mark: 'made\n' } },
    warning: /image is a list, not a text, and is ignored/,
  },
  'a variable that is an object': {
    why: 'one entry does not lose the others',
    content: { containerEnv: { A: {}, OK: 'yes' }, postCreateCommand: 'echo $OK > ok' },
    ours: { image, files: { ok: 'yes\n' } },
    warning: /containerEnv\.A is an object, not a text, and is ignored/,
  },
  'a variable without a name': {
    why: 'one entry does not lose the others',
    content: { containerEnv: { '': 'x', OK: 'yes' }, postCreateCommand: 'echo $OK > ok' },
    ours: { image, files: { ok: 'yes\n' } },
    warning: /containerEnv has a variable without a name, which is ignored/,
  },
  'a variable with a NUL byte': {
    why: 'one entry does not lose the others',
    content: { remoteEnv: { A: '\0', OK: 'yes' }, postCreateCommand: 'echo $OK > ok' },
    ours: { image, files: { ok: 'yes\n' } },
    warning: /remoteEnv\.A contains a NUL byte and is ignored/,
  },
  'ports as an object': {
    why: 'one entry does not lose the others',
    content: { forwardPorts: { a: 1 }, ...MADE },
    ours: { image, files: { mark: 'made\n' } },
    warning: /forwardPorts is an object, not a list, and is ignored/,
  },
  'a reference without a name': {
    why: 'one entry does not lose the others',
    content: { containerEnv: { A: '${localEnv}' }, ...MADE },
    ours: { image, files: { mark: 'made\n' } },
    warning: /containerEnv\.A contains an unknown reference, which is kept/,
  },
  'a variable of the server': {
    why: 'the environment of the server is never exposed (threat W12)',
    content: { containerEnv: { A: '[${localEnv:PATH}]' }, postCreateCommand: 'echo $A > a' },
    ours: { image, files: { a: '[]\n' } },
    warning: /\$\{localEnv:PATH\} is its default or empty/,
  },
  'the folder on the host': {
    why: 'programs inside cannot see it',
    content: { postCreateCommand: 'echo ${localWorkspaceFolder} > folder' },
    ours: { image, files: { folder: '/workspace\n' } },
    warning: undefined,
  },
  'a user that the image does not have': {
    why: 'the workspace is there to fix it',
    content: { remoteUser: 'nobody-knows', postCreateCommand: 'id -un > user' },
    ours: { image, files: { user: 'workspace\n' } },
    warning: /has no user "nobody-knows"; programs run as the image's user/,
  },
  'a volume in the folder': {
    why: "the volume's files would be those of local_dir",
    content: {
      mounts: ['type=volume,target=/workspace/data'],
      postCreateCommand: 'ls -d data > listed || :',
    },
    ours: { image, files: { listed: '' } },
    warning: /mounts: \/workspace\/data is not mounted, because it is in local_dir/,
  },
  'a directory of the host': {
    why: 'workspaces see only local_dir of the host',
    content: {
      mounts: ['type=bind,source=/etc,target=/host'],
      postCreateCommand: 'ls -d /host > listed || :',
    },
    ours: { image, files: { listed: '' } },
    warning: /mounts: \/host is not mounted, because workspaces see only local_dir of the host/,
  },
}

/** Commands that fail in both: `up` then exits with 1, and the workspace is running with what was done before. */
const FAILING: Readonly<Record<string, object>> = {
  'a number in an object of commands': {
    postCreateCommand: { a: 'echo made > mark', b: 5 },
    postStartCommand: 'touch late',
  },
  'null in an object of commands': {
    postCreateCommand: { a: 'echo made > mark', b: null },
    postStartCommand: 'touch late',
  },
  'an empty list in an object of commands': {
    postCreateCommand: { a: 'echo made > mark', b: [] },
    postStartCommand: 'touch late',
  },
  'an object in an object of commands': {
    postCreateCommand: { a: 'echo made > mark', b: {} },
    postStartCommand: 'touch late',
  },
  'an object in a list': {
    onCreateCommand: 'echo made > mark',
    postCreateCommand: ['touch', {}],
    postStartCommand: 'touch late',
  },
  'a command that fails': { onCreateCommand: 'echo made > mark; exit 3', postCreateCommand: 'touch late' },
}

describe(`the official CLI ${versionOf([process.execPath, DEV_CONTAINER_CLI, '--version'])}`, () => {
  test.each(Object.entries(SAME))('agrees about %s', async (_what, content) => {
    const { theirs, ours } = await both(typeof content === 'function' ? content() : textWith(content))
    expect(comparable(ours, content)).toEqual(comparable(theirs, content))
    expect(theirs.succeeded).toBe(true)
  })

  test.each(Object.entries(FAILING))('stops at the same command for %s', async (_what, content) => {
    const { theirs, ours } = await both(textWith(content))
    expect(theirs.succeeded).toBe(false)
    expect(ours.files).toEqual({ mark: 'made\n' })
    expect(comparable({ ...ours, succeeded: false }, content)).toEqual(comparable(theirs, content))
  })

  test.each(Object.entries(DIFFERENT))(
    'differs on purpose for %s',
    async (_what, { content, ours, warning }) => {
      const results = await both(textWith(content))
      expect(results.ours).toMatchObject({ succeeded: true, ...ours })
      expect(results.theirs).not.toMatchObject({ succeeded: true, ...ours })
      const expected = warning === undefined ? [] : [expect.stringMatching(warning)]
      expect(results.warnings).toEqual(expect.arrayContaining(expected))
    },
  )
})
