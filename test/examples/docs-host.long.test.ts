import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { answers } from '../support/answers.ts'
import { cookieOf } from '../support/content/content-server.ts'
import { freePort } from '../support/services/free-port.ts'
import { tempDir } from '../support/temp-dir.ts'
import { waitFor } from '../support/wait-for.ts'

/** Runs the built programs by the names that users type. */
test('the documentation host example publishes a folder and serves it behind a login', async () => {
  const dir = join(tempDir(), 'docs-host')
  cpSync(join(packageRoot, 'examples/docs-host'), dir, { recursive: true })
  const [api, port] = [await freePort(), await freePort()]
  // Replaces the ports by free ones.
  for (const file of ['supervisor.yaml', 'docs.yaml']) {
    const text = readFileSync(join(dir, file), 'utf8')
    writeFileSync(join(dir, file), text.replaceAll('8090', String(port)))
  }
  const bin = join(packageRoot, 'node_modules/.bin')
  const supervisor = spawn(join(bin, 'supervisor'), ['-c', 'supervisor.yaml', 'up'], {
    cwd: dir,
    env: { PATH: `${bin}:${process.env['PATH']}`, HOME: dir, SUPERVISOR_API__PORT: String(api) },
    stdio: 'ignore',
  })
  onTestFinished(() => void supervisor.kill('SIGKILL'))
  const ended = once(supervisor, 'exit')
  const docs = `http://localhost:${port}`
  await waitFor('the documentation', () => answers(`${docs}/_health`))
  expect((await fetch(`${docs}/repos/guide/`, { redirect: 'manual' })).status).toBe(302)
  const login = await fetch(`${docs}/_login`, {
    method: 'POST',
    body: new URLSearchParams({ password: 'read the docs', next: '/repos/guide/' }),
    redirect: 'manual',
  })
  expect([login.status, login.headers.get('location')]).toEqual([303, '/repos/guide/'])
  const page = await fetch(`${docs}/repos/guide/`, { headers: { cookie: cookieOf(login) } })
  expect(await page.text()).toContain('<h1>Guide</h1>')
  supervisor.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})
