// Takes the documentation's screenshots from a real server with real containers: npm run screenshots
// Needs a container engine and Chromium (scripts/test-tools). Writes docs/images/*.png.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { serve } from '../bench/served.ts'
import { run } from '../src/lib/process/run.ts'
import { openBrowser } from '../test/support/browser/browser.ts'

/** Time for the graphs of resource usage. */
const USAGE_MS = 60_000
/** Time for a page to load its data. */
const LOAD_MS = 3_000

/** Workspaces, each with a program that produces resource usage. */
const WORKSPACES = [
  { name: 'agent-42', program: 'while :; do perl -e "for (1..2e6) {}"; sleep 1; done' },
  { name: 'docs', program: undefined },
  {
    name: 'feature-login',
    program: 'tmux new-session -d -s server "perl -e \'\\$x = q(a) x 2e8; sleep 600\'"',
  },
  { name: 'fix-checkout', program: undefined },
  { name: 'upgrade-node', program: 'while :; do perl -e "for (1..4e5) {}"; sleep 2; done' },
] as const

const PAGES = [
  { file: 'workspaces.png', hash: '#/', height: 400 },
  { file: 'workspace.png', hash: '#/workspaces/feature-login', height: 760 },
  { file: 'disk.png', hash: '#/disk', height: 760 },
] as const

const folder = resolve(import.meta.dirname, '../docs/images')
mkdirSync(folder, { recursive: true })
const server = await serve(undefined, { WORKSPACE_NAME: 'workspaces', WORKSPACE_DOCKER__NETWORK: 'bridge' })
try {
  for (const { name, program } of WORKSPACES) {
    await server.post('/api/workspaces', { name, cpus: 1, memory_mb: 1024 })
    if (program !== undefined) await run('docker', ['exec', '-d', `ws-${name}`, 'sh', '-c', program])
  }
  await server.post('/api/workspaces/docs/stop')
  const { page, close } = await openBrowser(server.url)
  try {
    await page.resize(1200, 760)
    await setTimeout(USAGE_MS)
    for (const { file, hash, height } of PAGES) {
      await page.resize(1200, height)
      await page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`)
      await setTimeout(LOAD_MS)
      writeFileSync(join(folder, file), await page.screenshot())
      console.log(`docs/images/${file}`)
    }
  } finally {
    await close()
  }
} finally {
  for (const { name } of WORKSPACES) await server.delete(`/api/workspaces/${name}`).catch(() => undefined)
  await server.stop()
}
