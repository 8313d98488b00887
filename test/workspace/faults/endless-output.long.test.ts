import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { docker, uniqueName } from '../../support/engine/docker.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { serve } from '../../support/served.ts'
import { makeWorkspace } from '../../support/workspace/server/test-server.ts'

/** A server in a separate process and its peak memory in MiB. */
async function served() {
  const stateDir = join(tempDir(), 'state')
  mkdirSync(stateDir)
  const server = await serve({ stateDir })
  const peakMiB = () => {
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024
  }
  const before = peakMiB()
  const remove = (name: string) =>
    onTestFinished(() => server.api(`workspaces/${name}`, 'DELETE').then(() => undefined))
  return { server, remove, grownMiB: () => peakMiB() - before }
}

test('F30 a program with endless output is terminated, and the server does not grow', async () => {
  const { server, remove, grownMiB } = await served()
  const name = uniqueName('endless')
  await makeWorkspace(server.url, { name })
  remove(name)
  const script = `printf '#!/bin/sh\nexec tr "\\\\0" x </dev/zero\n' >/usr/local/bin/tmux; chmod +x /usr/local/bin/tmux`
  await docker('exec', '-u', '0', `ws-${name}`, 'sh', '-c', script)
  const answer = await server.api(`workspaces/${name}/sessions`)
  expect([answer.status, answer.body.error]).toEqual([
    500,
    { code: 'BACKEND_ERROR', message: "the program's output exceeds the limit of 1 MiB" },
  ])
  expect((await server.api('sessions')).body).toEqual({ sessions: [] })
  expect(grownMiB()).toBeLessThan(100)
  await waitFor('it to exit', async () => !(await docker('top', `ws-${name}`)).includes('tr '))
})

test('F30 a line of a gigabyte is truncated, and the creation continues', async () => {
  const { server, remove, grownMiB } = await served()
  const directory = tempDir()
  chmodSync(directory, 0o755)
  const postCreateCommand = `head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo the end`
  writeFileSync(join(directory, '.devcontainer.json'), JSON.stringify({ postCreateCommand }))
  const name = uniqueName('gigabyte')
  remove(name)
  const response = await fetch(`${server.url}/api/workspaces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ name, local_dir: directory }),
  })
  const events = await response.text()
  expect(events).toContain('event: complete')
  expect(Math.max(...events.split('\n').map((line) => line.length))).toBeLessThan(4_300)
  expect(grownMiB()).toBeLessThan(100)
})
