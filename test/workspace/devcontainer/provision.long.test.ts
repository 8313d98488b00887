import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createParser } from 'eventsource-parser'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import type { Backend } from '../../../src/workspace/backend/backend.ts'
import {
  docker,
  dockerBackend,
  removeLeftovers,
  TEST_IMAGE,
  uniqueName,
} from '../../support/engine/docker.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { serveRepository } from '../../support/services/git-daemon.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

/** A directory with a devcontainer.json, and the name for its workspace. */
function directoryWith(content: unknown, file = '.devcontainer/devcontainer.json'): string {
  const directory = tempDir()
  chmodSync(directory, 0o755)
  mkdirSync(join(directory, '.devcontainer'))
  writeFileSync(join(directory, file), typeof content === 'string' ? content : JSON.stringify(content))
  return directory
}

/** Creates a workspace and returns its progress messages and outcome. */
async function create(server: TestServer, body: object) {
  const progress: string[] = []
  let ended: { readonly event: string | undefined; readonly data: any } | undefined
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'progress') progress.push(JSON.parse(data).message)
      else ended = { event, data: JSON.parse(data) }
    },
  })
  const response = await fetch(`${server.url}/api/workspaces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(body),
  })
  parser.feed(await response.text())
  return { progress, ...ended }
}

/** The base image with another user, removed with the test. */
async function imageOf(user: string): Promise<string> {
  const tag = `${uniqueName('other')}:1`
  const container = await docker('create', TEST_IMAGE)
  await docker('commit', '--change', `USER ${user}`, container, tag)
  await docker('rm', container)
  onTestFinished(() => run('docker', ['rmi', '-f', tag]).then(() => undefined))
  return tag
}

const config = {
  containerEnv: { GREETING: 'hello', WHO: 'nobody' },
  remoteEnv: { WHO: 'world' },
  postCreateCommand: { said: 'echo "$GREETING $WHO" > said', listed: ['touch', 'listed'] },
}

describe.each([
  { kind: 'docker', open: (): Backend => dockerBackend() },
  { kind: 'fake', open: (): Backend => new FakeBackend() },
])('a devcontainer.json with the $kind backend', ({ kind, open }) => {
  let backend: Backend
  let server: TestServer
  const name = uniqueName('dev')
  beforeEach(async () => {
    backend = open()
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterEach(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
    await removeLeftovers(name)
  })

  const output = async (script: string) => {
    const process = await backend.exec(name, { argv: ['/bin/sh', '-c', script], stdin: false })
    process.stderr.resume()
    return (await process.stdout.setEncoding('utf8').toArray()).join('')
  }

  test('of a local_dir is applied', async () => {
    const directory = directoryWith(config)
    const { progress, event } = await create(server, { name, local_dir: directory })
    expect(event).toBe('complete')
    expect(progress).toEqual(expect.arrayContaining(['running said', 'running listed']))
    expect(readFileSync(join(directory, 'said'), 'utf8')).toBe('hello world\n')
    expect(await output('ls; echo "$WHO"')).toBe('listed\nsaid\nworld\n')
    await server.api(`workspaces/${name}/stop`, 'POST')
    await server.api(`workspaces/${name}/start`, 'POST')
    expect(await output('echo "$WHO"')).toBe('world\n')
  })

  test('runs its commands in order and reports unsupported properties', async () => {
    const said = (text: string) => `echo ${text} >> said`
    const directory = directoryWith({
      postAttachCommand: said('attach'),
      postStartCommand: ['sh', '-c', said('start')],
      postCreateCommand: { one: said('create') },
      updateContentCommand: said('update'),
      onCreateCommand: said('on'),
      capAdd: ['SYS_ADMIN'],
    })
    const { progress } = await create(server, { name, local_dir: directory })
    expect(readFileSync(join(directory, 'said'), 'utf8')).toBe('on\nupdate\ncreate\nstart\nattach\n')
    expect(progress).toContain(
      'devcontainer.json: capAdd is not supported: the server determines the privileges of workspaces',
    )
  })

  test('skips the remaining commands after the first failure', async () => {
    const directory = directoryWith({ onCreateCommand: 'exit 3', postCreateCommand: 'touch created' })
    const { event } = await create(server, { name, local_dir: directory })
    expect(event).toBe('complete')
    expect((await server.api(`workspaces/${name}`)).body.warnings).toEqual([
      'devcontainer.json: onCreateCommand failed with status 3; the workspace is running anyway',
      'devcontainer.json: postCreateCommand did not run, because onCreateCommand failed',
    ])
    expect(await output('ls')).toBe('')
  })

  test('of a repository is applied once it is cloned, including image and ports', async () => {
    const image = kind === 'docker' ? await imageOf('games') : 'other:1'
    const content = JSON.stringify({ ...config, image, forwardPorts: [3000] })
    const daemon = await serveRepository('repository.git', { '.devcontainer.json': content, file: 'x\n' })
    onTestFinished(() => daemon.stop())
    const { event, data } = await create(server, { name, repo: `${daemon.url}repository.git` })
    expect({ event, image: data.image, ports: data.forward_ports }).toEqual({
      event: 'complete',
      image,
      ports: [3000],
    })
    // git refuses a tree that does not belong to its user.
    expect(await output('cat file said; git status --porcelain | grep -c said; echo "$GREETING"')).toBe(
      'x\nhello world\n1\nhello\n',
    )
    if (kind === 'docker') {
      expect(await output('id -un; stat -c %U . file .git/HEAD')).toBe('games\n'.repeat(4))
      expect(await docker('inspect', '-f', '{{.Id}}', `ws-${name}`)).toBe(
        (await server.api(`workspaces/${name}`)).body.container_id,
      )
    }
  })

  test('of a repository does not override the image of the request', async () => {
    const files = { '.devcontainer.json': JSON.stringify({ ...config, image: 'other:1' }) }
    const daemon = await serveRepository('repository.git', files)
    onTestFinished(() => daemon.stop())
    const request = { name, repo: `${daemon.url}repository.git`, image: TEST_IMAGE }
    expect((await create(server, request)).data.image).toBe(TEST_IMAGE)
  })

  test('is ignored with no_provision', async () => {
    const directory = directoryWith({ ...config, image: 'other:1' })
    const { data } = await create(server, { name, local_dir: directory, no_provision: true })
    expect(data.image).toBe(TEST_IMAGE)
    expect(await output('ls; echo "[$WHO]"')).toBe('[]\n')
  })

  test('whose postCreateCommand fails keeps the workspace and reports the failure', async () => {
    const postCreateCommand = { good: 'touch good', bad: 'echo canary-words >&2; exit 3', none: ['/no/such'] }
    const { progress, event } = await create(server, {
      name,
      local_dir: directoryWith({ postCreateCommand }),
    })
    expect(event).toBe('complete')
    expect(progress).toContain('bad failed with status 3: canary-words')
    const { warnings } = (await server.api(`workspaces/${name}`)).body
    expect(warnings).toEqual([
      'devcontainer.json: postCreateCommand: bad failed with status 3; the workspace is running anyway',
      expect.stringMatching(
        /^devcontainer\.json: postCreateCommand: none failed.*; the workspace is running anyway$/,
      ),
    ])
    expect(await output('ls')).toBe('good\n')
    const timeline = JSON.stringify((await server.api(`workspaces/${name}/timeline`)).body)
    expect(timeline).toContain('bad failed with status 3')
    expect(server.log()).toContain('"command":"bad","why":"failed with status 3"')
    // W12: programs may print anything.
    expect(server.log() + timeline).not.toContain('canary-words')
  })
})

describe('a devcontainer.json with a user and directories', () => {
  let server: TestServer
  const [name, copy, restored] = [uniqueName('user'), uniqueName('copy'), uniqueName('restored')]
  beforeEach(async () => {
    server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  })
  afterEach(async () => {
    for (const each of [name, copy, restored]) {
      await server.api(`workspaces/${each}`, 'DELETE')
      await removeLeftovers(each)
    }
    await server.stop()
  })

  const output = async (workspace: string, command: string): Promise<string> =>
    (await server.api(`workspaces/${workspace}/exec`, 'POST', { command })).body.stdout

  /** Creates the workspace from a repository, whose file is read once the repository is cloned. */
  async function createFor(user: string): Promise<void> {
    const content = {
      remoteUser: user,
      workspaceFolder: '/workspaces/app/sub',
      mounts: ['type=volume,target=/var/kept', 'type=volume,target=/proc/none'],
      postCreateCommand: 'pwd > where; id -un > user',
    }
    const files = { '.devcontainer.json': JSON.stringify(content), file: 'x\n', 'sub/file': 'y\n' }
    const daemon = await serveRepository('repository.git', files)
    onTestFinished(() => daemon.stop())
    const created = await create(server, { name, repo: `${daemon.url}repository.git` })
    expect(created).toMatchObject({ event: 'complete' })
  }

  test('runs every program as the user, who owns the files, also in a fork', async () => {
    await createFor('games')
    expect((await server.api(`workspaces/${name}`)).body.warnings).toEqual([
      'devcontainer.json: mounts: /proc/none cannot be made',
    ])
    const owners = 'stat -c %U . file .git/HEAD; id -un'
    expect(await output(name, `cat sub/where sub/user; ${owners}`)).toBe(
      `/workspaces/app/sub\n${'games\n'.repeat(5)}`,
    )
    const links = 'cat /workspaces/app/file; stat -c "%U %F" /var/kept'
    expect(await output(name, links)).toBe('x\nroot directory\n')
    await server.api(`workspaces/${name}/stop`, 'POST')
    await server.api(`workspaces/${name}/start`, 'POST')
    expect(await output(name, 'id -un')).toBe('games\n')
    expect((await server.api(`workspaces/${name}/fork`, 'POST', { names: [copy] })).status).toBe(201)
    expect(await output(copy, `${owners}; ${links}`)).toBe(`${'games\n'.repeat(4)}x\nroot directory\n`)
  })

  test.each(['nobody-knows', '99999999999'])('without user %s runs as the image’s user', async (user) => {
    await createFor(user)
    expect((await server.api(`workspaces/${name}`)).body.warnings).toContain(
      `devcontainer.json: image ${TEST_IMAGE} has no user "${user}"; programs run as the image's user`,
    )
    expect(await output(name, 'id -un; stat -c %U file')).toBe('workspace\nworkspace\n')
  })

  test('installs features of a repository before its commands, and none after one that fails', async () => {
    const feature = (id: string, script: string, description: object = {}) => ({
      [`.devcontainer/${id}/devcontainer-feature.json`]: JSON.stringify({ id, ...description }),
      [`.devcontainer/${id}/install.sh`]: `#!/bin/sh\n${script}\n`,
    })
    const daemon = await serveRepository('repository.git', {
      '.devcontainer/devcontainer.json': JSON.stringify({
        features: { './c': {}, './b': {}, './a': { pick: 'this' }, 'ghcr.io/x/y:1': {} },
        postCreateCommand: 'touch made',
      }),
      ...feature('a', 'echo "$(id -un) $PICK $FROM_A" > /usr/local/a', {
        containerEnv: { FROM_A: '[$LANG]' },
      }),
      ...feature('b', 'echo trouble >&2; exit 4'),
      ...feature('c', 'touch /usr/local/c'),
    })
    onTestFinished(() => daemon.stop())
    const { progress, event } = await create(server, { name, repo: `${daemon.url}repository.git` })
    expect(event).toBe('complete')
    expect(await output(name, 'cat /usr/local/a; ls made /usr/local/c; echo $FROM_A')).toBe(
      'root this [C.UTF-8]\n[C.UTF-8]\n',
    )
    expect(progress).toContain('feature b failed with status 4: trouble')
    expect((await server.api(`workspaces/${name}`)).body.warnings).toEqual([
      expect.stringMatching(/^devcontainer\.json: features: ghcr\.io\/x\/y:1 is not supported/),
      'devcontainer.json: feature b failed with status 4; the workspace is running anyway',
      'devcontainer.json: postCreateCommand did not run, because feature b failed',
    ])
  })

  test('is exported with its user', async () => {
    await createFor('root')
    const archive = await fetch(`${server.url}/api/workspaces/${name}/export`)
    const imported = await fetch(`${server.url}/api/workspaces/import?name=${restored}`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: await archive.arrayBuffer(),
    })
    expect(imported.status).toBe(201)
    expect(await output(restored, 'id -un; stat -c %U . file')).toBe('root\n'.repeat(3))
  })
})

describe('a devcontainer.json', () => {
  let backend: FakeBackend
  let server: TestServer
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({
      backends: () => [backend],
      settings: { image_aliases: { js: 'node:24' } },
    })
  })
  afterEach(() => server.stop())

  test('sets the image of a local_dir unless the request does', async () => {
    const local_dir = directoryWith({ image: 'js' })
    expect((await create(server, { name: 'one', local_dir })).data).toMatchObject({ image: 'node:24' })
    expect((await create(server, { name: 'two', local_dir, image: 'x:1' })).data).toMatchObject({
      image: 'x:1',
    })
  })

  test('whose image is not a reference is applied without it', async () => {
    const local_dir = directoryWith({ image: '--privileged', postCreateCommand: 'touch made' })
    const { progress, event, data } = await create(server, { name: 'demo', local_dir })
    expect({ event, image: data.image }).toEqual({ event: 'complete', image: TEST_IMAGE })
    expect(data.warnings).toEqual([
      'devcontainer.json: image "--privileged" is not an image reference, and is ignored',
    ])
    expect(progress).toContain('running postCreateCommand')
  })

  test.each([
    ['is not JSON', () => directoryWith('{'), 'it is not valid JSON'],
    ['is too large', () => directoryWith(`{${' '.repeat(300_000)}}`), 'larger than 256 KiB'],
    [
      'is outside the directory',
      () => {
        const directory = tempDir()
        symlinkSync('/etc/passwd', join(directory, '.devcontainer.json'))
        return directory
      },
      'is outside the directory',
    ],
    [
      'is outside the directory by a directory',
      () => {
        const [directory, elsewhere] = [tempDir(), tempDir()]
        writeFileSync(join(elsewhere, 'devcontainer.json'), '{"image":"root:1"}')
        symlinkSync(elsewhere, join(directory, '.devcontainer'))
        return directory
      },
      'is outside the directory',
    ],
    [
      'is a device',
      () => {
        const directory = tempDir()
        symlinkSync('/dev/zero', join(directory, '.devcontainer.json'))
        return directory
      },
      'is outside the directory',
    ],
    [
      'is a pipe',
      () => {
        const directory = tempDir()
        execFileSync('mkfifo', [join(directory, '.devcontainer.json')])
        return directory
      },
      'it is not a file',
    ],
  ])('that %s is reported without failing the creation', async (_how, make, why) => {
    const { progress, event, data } = await create(server, { name: 'demo', local_dir: make() })
    expect({ event, image: data.image }).toEqual({ event: 'complete', image: TEST_IMAGE })
    expect(progress).toContainEqual(expect.stringContaining(why))
    expect(progress.join('')).not.toContain('root:')
    expect(server.log()).toContain('devcontainer.json is unusable')
  })

  test('whose postCreateCommand runs when the server stops keeps the workspace', async () => {
    const directory = directoryWith({ postCreateCommand: 'touch begun; sleep 60' })
    const creation = create(server, { name: 'demo', local_dir: directory })
    await waitFor('the command', () => backend.find('demo').then((found) => found !== undefined))
    await waitFor('the command', () => {
      try {
        return readFileSync(join(directory, 'begun')) !== undefined
      } catch {
        return false
      }
    })
    expect((await server.api('workspaces/demo')).body.status).toBe('starting')
    server = await server.restart()
    await creation
    expect((await server.api('workspaces/demo')).body).toMatchObject({ status: 'running' })
  })

  test('whose postCreateCommand is running can be deleted with its workspace', async () => {
    const local_dir = directoryWith({ postCreateCommand: 'sleep 60' })
    const creation = create(server, { name: 'demo', local_dir })
    await waitFor('the workspace', async () => (await backend.find('demo')) !== undefined)
    expect((await server.api('workspaces/demo', 'DELETE')).status).toBe(204)
    await creation
    expect(await backend.list()).toEqual([])
    expect((await server.api('workspaces')).body.workspaces).toEqual([])
  })
})
