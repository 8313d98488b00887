import { execFileSync } from 'node:child_process'
import { createReadStream, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { loadWorkspaceConfig } from '../../../src/workspace/config.ts'
import { buildImage } from '../../../src/workspace/assembly/build-image.ts'
import { docker, uniqueName } from '../../support/engine/docker.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { longestStall } from '../../support/longest-stall.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { guestDir, pack, POWER_OFF, tinyTree } from '../../support/workspace/machine/tiny-image.ts'
import { testKernel } from '../../support/vm/vm-parts.ts'
import {
  userEnvironment,
  workspaceCli,
  workspaceCliOnTerminal,
} from '../../support/workspace/client/workspace-cli.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const kernel = () => ({ kernel: testKernel().file, modules: testKernel().modules })

async function startServer(settings: Readonly<Record<string, unknown>> = {}): Promise<TestServer> {
  const server = await startWorkspaceServer({
    stateDir: tempDir(),
    backends: () => [new FakeBackend()],
    guestDir: guestDir(POWER_OFF),
    settings: {
      enabled_backends: ['qemu'],
      default_backend: 'qemu',
      docker: { host: process.env['DOCKER_HOST'] },
      image: kernel(),
      ...settings,
    },
  })
  onTestFinished(() => server.stop())
  return server
}

async function engineImage(): Promise<string> {
  const name = `${uniqueName('vm')}:1`
  await docker('import', pack(tinyTree()), name)
  onTestFinished(async () => void (await docker('rmi', '-f', name)))
  return name
}

test('a server pulls with progress, stays responsive, and then has the image', async () => {
  const name = await engineImage()
  const server = await startServer()
  const beganMs = performance.now()
  const stalledMs = longestStall()
  const response = await fetch(`${server.url}/api/images/pull`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ docker_ref: name, tag: 'tiny' }),
  })
  const events = await response.text()
  expect(events).toMatch(
    /event: progress\ndata: \{"message":"unpacking [^\n]*"\}\n\n(?:.|\n)*event: complete\ndata: \{"tag":"tiny","digest":"sha256:[0-9a-f]{64}"\}/,
  )
  expect(stalledMs()).toBeLessThan((performance.now() - beganMs) / 10)
  const { body } = await server.api('images/inspect/tiny?verify=true')
  expect(body).toMatchObject({
    image: { name: 'tiny', docker_ref: name, cached: true, source: 'user' },
    manifest: { source_ref: name },
  })
})

test('F36 a stopping server aborts a pull and leaves nothing of it', async () => {
  const name = await engineImage()
  const server = await startServer()
  const response = await fetch(`${server.url}/api/images/pull`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ docker_ref: name }),
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let events = ''
  while (!events.includes('installing')) events += (await reader?.read())?.value ?? ''
  await server.stop()
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
    events += part.value
  expect(events).toMatch(
    /event: error\ndata: \{"code":"BACKEND_UNAVAILABLE","message":"the server is stopping"\}/,
  )
  expect(readdirSync(join(server.stateDir, 'qemu/images/blobs/sha256'))).toEqual([])
})

test('the CLI pulls, lists, inspects, tags, removes and prunes', async () => {
  const name = await engineImage()
  const server = await startServer({ default_image: name, image_aliases: { other: 'base' } })
  const environment = userEnvironment({ WORKSPACE_URL: server.url })
  const image = async (...argv: readonly string[]) => {
    const { status, stdout, stderr } = await workspaceCli(argv, environment)
    expect({ status, stderr }, argv.join(' ')).toEqual({ status: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  // The configuration names two, one of which is unavailable.
  const failed = await workspaceCli(['server', 'pull-images'], environment)
  expect([failed.status, failed.stderr]).toEqual([
    1,
    expect.stringContaining('image base is not on this machine, and pulling'),
  ])
  const [first] = (await image('image', 'ls')).images
  expect(first).toMatchObject({ docker_ref: name, is_default: true, cached: true })
  expect(await image('image', 'pull', name, '--tag', 'mine')).toEqual({ tag: 'mine', digest: first.digest })
  expect((await image('image', 'inspect', 'mine', '--verify')).manifest).toMatchObject({
    digest: first.digest,
    backend: 'qemu',
  })
  await image('image', 'tag', 'mine', 'theirs', '--backend', 'qemu')
  await image('image', 'rm', 'mine')
  expect((await image('image', 'prune', '--dry-run')).deleted).toEqual([])
  const shown = await workspaceCliOnTerminal(['image', 'ls'], environment)
  expect(shown).toMatch(/NAME +BACKEND +SIZE +SOURCE +DIGEST\r\n/)
  expect(shown).toMatch(/theirs +qemu +\d+ MiB +user +[0-9a-f]{12}\r\n/)
  expect(shown).toMatch(/vm-\w+-1 +qemu +\d+ MiB +config, default +[0-9a-f]{12}\r\n/)
  expect(shown).toMatch(/base +qemu +not cached +config, other/)
  const pulling = await workspaceCliOnTerminal(['image', 'pull', name, '--tag', 'again'], environment)
  expect(pulling).toContain(`again is ${first.digest}`)
  const missing = await workspaceCli(['image', 'inspect', 'nothing'], environment)
  expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining('image "nothing" not found')])
})

test('an archive, a compressed one and standard input yield the same image', async () => {
  const { config } = loadWorkspaceConfig(
    {},
    { flags: { state_dir: tempDir(), enabled_backends: ['qemu'], image: kernel() } },
  )
  const archive = pack(tinyTree())
  const messages: string[] = []
  const build = (of: Parameters<typeof buildImage>[1]['archive'], tag?: string) =>
    buildImage(config, {
      archive: of,
      tag,
      backend: undefined,
      progress: (message) => messages.push(message),
      signal: new AbortController().signal,
      guestDir: guests,
    })
  const guests = guestDir(POWER_OFF)
  const first = await build(archive)
  expect(first).toMatchObject({ tag: 'tiny', backend: 'qemu' })
  const second = await build(createReadStream(archive), 'piped')
  expect(second).toMatchObject({ tag: 'piped', digest: first.digest })
  expect(messages.filter((message) => message === 'checking the file system')).toHaveLength(1)
  execFileSync('gzip', ['-k', archive])
  expect(await build(`${archive}.gz`)).toMatchObject({ tag: 'tiny', digest: first.digest })
  const tag = JSON.parse(readFileSync(join(config.qemu.root, 'images/tags/piped.json'), 'utf8')) as object
  expect(tag).toEqual({ digest: first.digest, dockerRef: '' })
  await expect(build(Readable.from([]))).rejects.toThrow('requires --tag')
  await expect(build(archive, '../x')).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
})

test.each([
  [['image', 'build'], 'specify either an archive'],
  [['image', 'build', 'x.tar', '--base'], 'specify either an archive'],
  [['image', 'build', ''], 'It must not be empty'],
  [['image', 'build', '/no/such.tar', '--backend', 'xen'], 'must be one of firecracker, vz, qemu'],
  [['image', 'build', '/no/such.tar'], 'enabled_backends contains no VM backend'],
])('%j is a usage error', async (argv, says) => {
  const { status, stderr } = await workspaceCli(argv, userEnvironment({ WORKSPACE_STATE_DIR: tempDir() }))
  expect([status === 0, stderr]).toEqual([false, expect.stringContaining(says)])
})
