import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { removeLeftovers, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'
import { versionOf } from '../../support/foreign/clients.ts'
import {
  containerOf,
  DEV_CONTAINER_CLI,
  filesOf,
  folderWith,
  removeFiles,
  type Observed,
  upWithOfficialCli,
} from '../../support/foreign/dev-container-cli.ts'
import { userEnvironment, workspaceCli } from '../../support/workspace/client/workspace-cli.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

/** The base image with files that shells read. */
const image = `dev-container-${randomBytes(4).toString('hex')}:1`
const DOCKERFILE = `
FROM ${TEST_IMAGE}
USER root
ENV FROM_IMAGE=image
RUN mkdir -p /opt/kit/bin && printf '#!/bin/sh\\necho kit ran\\n' > /opt/kit/bin/kit && chmod +x /opt/kit/bin/kit && \\
  echo 'export PATH=$PATH:/opt/kit/bin KIT=1; echo noise' > /etc/profile.d/kit.sh && \\
  printf 'export RC=1\\n' > /home/workspace/.bashrc && printf 'export PROFILE=1\\n. ~/.bashrc\\n' > /home/workspace/.profile
USER workspace
`
let server: TestServer
beforeAll(async () => {
  const { status, stderr } = await run('docker', ['build', '-q', '-t', image, '-'], {
    input: DOCKERFILE,
    environment: { ...process.env, DOCKER_BUILDKIT: '0' },
  })
  if (status !== 0) throw new Error(stderr)
  server = await startWorkspaceServer()
})
afterAll(async () => {
  await server.stop()
  await run('docker', ['rmi', '-f', image])
})

/** The CLI mounts the folder elsewhere unless a file has these. */
const PLACE = {
  workspaceFolder: '/workspace',
  workspaceMount: 'source=${localWorkspaceFolder},target=/workspace,type=bind',
}
const textWith = (content: object): string => JSON.stringify({ image, ...PLACE, ...content })

/** Runs both for a folder, one after the other: its path is part of `${devcontainerId}`. */
async function both(text: string) {
  const folder = folderWith(text)
  const theirs = await upWithOfficialCli(folder)
  removeFiles(folder)
  const name = uniqueName('official')
  onTestFinished(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await removeLeftovers(name)
  })
  const { status } = await workspaceCli(
    ['create', name, '--local-dir', folder],
    userEnvironment({ WORKSPACE_URL: server.url }),
  )
  const { container_id: id = '', warnings = [] } = (await server.api(`workspaces/${name}`)).body
  const ours = { succeeded: status === 0, ...(await containerOf(id)), files: filesOf(folder) }
  return { theirs, ours, warnings }
}

/** Set when a program starts. */
const OF_A_PROGRAM = /^(?:HOSTNAME|PWD|OLDPWD|SHLVL|_|LS_COLORS)=/
/**
 * Directories that /etc/profile adds. The official CLI edits that file, so that it keeps the container's PATH; here
 * both are merged.
 */
const OF_PROFILE = /:\/usr\/local\/games:\/usr\/games/

function comparable({ files, variables, ...rest }: Observed, content: unknown) {
  // Here remoteEnv is part of the container's environment, for all programs of its user.
  const names = Object.keys(Object((content as { readonly remoteEnv?: unknown }).remoteEnv))
  const isOfContainer = (each: string) => !names.some((name) => each.startsWith(`${name}=`))
  const lines = (text: string) =>
    text
      .split('\n')
      .filter((line) => !OF_A_PROGRAM.test(line))
      .map((line) => line.replace(OF_PROFILE, ''))
      .toSorted()
  const entries = Object.entries(files).map(([name, text]) => [name, lines(text)] as const)
  return { ...rest, variables: variables.filter(isOfContainer), files: Object.fromEntries(entries) }
}

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
