import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { dockerBackend, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { serveRepository } from '../../support/services/git-daemon.ts'
import type { Backend } from '../../../src/workspace/backend/backend.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

describe.each([
  { kind: 'docker', open: (): Backend => dockerBackend() },
  { kind: 'fake', open: (): Backend => new FakeBackend() },
])('dotfiles with the $kind backend', ({ open }) => {
  let backend: Backend
  let server: TestServer
  const name = uniqueName('dots')
  const start = async (settings: Readonly<Record<string, unknown>> = {}) => {
    server = await startWorkspaceServer({ backends: () => [backend], settings })
  }
  beforeEach(() => {
    backend = open()
  })
  afterEach(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
    await removeLeftovers(name)
  })

  const serve = async (files: Readonly<Record<string, string>>): Promise<string> => {
    const daemon = await serveRepository('dots.git', files)
    onTestFinished(() => daemon.stop())
    return `${daemon.url}dots.git`
  }
  const output = async (script: string) => {
    const process = await backend.exec(name, { argv: ['/bin/sh', '-c', script], stdin: false })
    process.stderr.resume()
    return (await process.stdout.setEncoding('utf8').toArray()).join('')
  }

  test('are installed by their own script', async () => {
    await start()
    const dotfiles = await serve({
      'install.sh':
        '#!/bin/sh\npwd | sed "s:^$HOME/::" > ~/.installed; env | grep -c ^GIT_ >> ~/.installed\n',
      '.profile-like': 'not linked\n',
    })
    expect((await server.create({ name, dotfiles })).status).toBe(201)
    expect(await output('cat ~/.installed; ls ~/.profile-like 2>/dev/null')).toBe('dotfiles\n0\n')
  })

  test('without a script are linked into the home directory unless a directory is in the way', async () => {
    const dotfiles = await serve({ '.toolrc': 'from the repository\n', '.kept/new': 'x', README: 'x' })
    await start({ dotfiles })
    expect((await server.create({ name })).status).toBe(201)
    expect(await output('cat ~/.toolrc ~/.kept/new; ls ~/README ~/.git 2>/dev/null | wc -l')).toBe(
      'from the repository\nx0\n',
    )
    // Again, with a file that a user may have created in the meantime.
    expect(await output('readlink ~/.toolrc | sed "s:^$HOME/::"')).toBe('dotfiles/.toolrc\n')
  })

  test('that are unavailable keep the workspace and report the failure', async () => {
    await start({ dotfiles: 'git://127.0.0.1:1/dots.git' })
    const response = await fetch(`${server.url}/api/workspaces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ name }),
    })
    const stream = await response.text()
    expect(stream).toContain('event: complete')
    expect(stream).toMatch(/dotfiles failed with status 128.*the workspace is running anyway/)
  })

  test('are skipped with no_provision', async () => {
    await start({ dotfiles: await serve({ '.toolrc': 'x' }) })
    await server.create({ name, no_provision: true })
    expect(await output('ls ~/dotfiles ~/.toolrc 2>/dev/null')).toBe('')
  })

  test('that are not a repository are refused before anything is created', async () => {
    await start()
    const answer = await server.create({ name, dotfiles: '/etc' })
    expect([answer.status, answer.body.error.code]).toEqual([400, 'INVALID_REPO_URL'])
    expect((await server.api(`workspaces/${name}`)).status).toBe(404)
  })
})

test.each([
  ['/etc', 'is neither owner/repo nor a URL'],
  ['https://user:canary@example.com/dots', 'must not contain a user name or password'],
])('a server whose dotfiles are %s does not start', async (dotfiles, why) => {
  const started = startWorkspaceServer({ backends: () => [new FakeBackend()], settings: { dotfiles } })
  await expect(started).rejects.toThrow(why)
  await expect(started).rejects.not.toThrow('canary')
})
