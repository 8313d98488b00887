import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import { HOUR_MS, MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import {
  CLI,
  userEnvironment,
  workspaceCli,
  workspaceCliOnTerminal,
} from '../../../support/workspace/client/workspace-cli.ts'

async function served(fill: (disk: MachineDisk) => void) {
  const disk = new MachineDisk()
  fill(disk)
  const server = await disk.serve()
  return { disk, server, environment: userEnvironment({ WORKSPACE_URL: server.url }) }
}

/** Answers a prompt on a terminal; returns the terminal's output, including the exit status. */
async function answering(answer: string, argv: readonly string[], environment: NodeJS.ProcessEnv) {
  const line = [...CLI, ...argv].map((word) => `'${word}'`).join(' ')
  const { stdout } = await run(
    'sh',
    ['-c', `echo ${answer} | script -qec "${line}; echo status=\\$?" /dev/null`],
    {
      environment,
    },
  )
  return stdout
}

describe('system df', () => {
  test('prints categories with files and human sizes on a terminal, and bytes as JSON', async () => {
    const { environment } = await served((disk) => {
      disk.machine('demo')
      disk.upper('stray')
    })
    const { stdout } = await workspaceCli(['system', 'df'], environment)
    expect(JSON.parse(stdout)).toMatchObject({
      backend: 'qemu',
      totals: { orphans: { logical_bytes: 2 ** 24 } },
    })
    const table = await workspaceCliOnTerminal(['system', 'df'], environment)
    const lines = table.split('\r\n').map((line) => line.trim().split(/ {2,}/))
    expect(lines[0]).toEqual(['FILES', 'LOGICAL', 'PHYSICAL'])
    expect(lines.slice(1, 5).map(([label]) => label)).toEqual([
      'images (0)',
      'workspaces (0 running, 1 stopped)',
      'orphans (1)',
      'TOTAL',
    ])
    expect(lines[2]).toEqual(['workspaces (0 running, 1 stopped)', '2', '16.0 MiB', '12.0 KiB'])
    const verbose = await workspaceCliOnTerminal(['system', 'df', '-v'], environment)
    expect(verbose).toMatch(/^ {2}demo \[qemu, stopped\] +2 +16\.0 MiB +12\.0 KiB/m)
    expect(verbose).toMatch(/^ {2}\S+uppers\/stray \[upper\]/m)
  })

  test('draws bars, largest first, and a treemap with escaped labels', async () => {
    const { environment, disk } = await served((each) => {
      each.machine('small')
      each.machine('large')
      each.upper('large', 2 ** 20)
      each.upper('a&b')
    })
    const bars = (await workspaceCli(['system', 'df', '--tree', '--table'], environment)).stdout.split('\n')
    expect(bars[0]).toMatch(/^workspace large +1\.00 MiB {2}█+$/)
    expect(bars.at(-2)).toMatch(/^total +1\.0\d MiB$/)
    const file = join(tempDir(), 'disk.svg')
    await workspaceCli(['system', 'df', '--svg', file], environment)
    const map = readFileSync(file, 'utf8')
    expect(map).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/)
    expect(map.match(/<rect/g)).toHaveLength(3)
    expect(map).toContain(`orphan ${disk.at('uppers')}/a&amp;b`)
  })
})

describe('system prune', () => {
  const old = (disk: MachineDisk): void => disk.machine('old', { ageMs: 100 * HOUR_MS })

  test.each([[[]], [['--force']], [['--json']], [['--all']], [['--all', '--force']]])(
    'deletes nothing with %j and exits with 2 without a terminal',
    async (flags) => {
      const { environment, disk } = await served(old)
      const { status, stderr, stdout } = await workspaceCli(['system', 'prune', ...flags], environment)
      expect([status, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(/--json --force/)
      expect(disk.has('uppers/old/upper.ext4')).toBe(true)
    },
  )

  test('shows the plan with --json --dry-run and applies it with --json --force', async () => {
    const { environment, disk } = await served(old)
    const look = await workspaceCli(['system', 'prune', '--json', '--dry-run'], environment)
    expect(look.status).toBe(0)
    expect(JSON.parse(look.stdout)).toMatchObject({
      dry_run: true,
      items: [{ name: 'old', action: 'would_delete' }],
    })
    expect(disk.has('uppers/old')).toBe(true)
    const done = await workspaceCli(['system', 'prune', '--json', '--force'], environment)
    expect(done.status).toBe(0)
    expect(JSON.parse(done.stdout)).toMatchObject({
      dry_run: false,
      items: [{ name: 'old', action: 'deleted' }],
    })
    expect(disk.has('uppers/old')).toBe(false)
  })

  test('shows the plan and deletes only after confirmation', async () => {
    const { environment, disk } = await served(old)
    const refused = await answering('n', ['system', 'prune'], environment)
    expect(refused).toMatch(/would delete +instance +old/)
    expect(refused).toMatch(/Delete this item and free 12\.0 KiB\? \[y\/N\]/)
    expect(refused).toMatch(/nothing was deleted/)
    expect(refused).toMatch(/status=1/)
    expect(disk.has('uppers/old')).toBe(true)
    const agreed = await answering('y', ['system', 'prune'], environment)
    expect(agreed).toMatch(/deleted +instance +old/)
    expect(agreed).toMatch(/status=0/)
    expect(disk.has('uppers/old')).toBe(false)
  })

  test('passes its options on and prunes only the given scopes', async () => {
    const { environment, disk } = await served((each) => {
      each.machine('young')
      each.upper('stray')
      each.console('young', 'x'.repeat(100))
    })
    const flags = ['--instances', '--logs', '--until', '0s', '--log-tail-bytes', '10', '--json', '--dry-run']
    const body = JSON.parse((await workspaceCli(['system', 'prune', ...flags], environment)).stdout)
    expect(body).toMatchObject({ scope: ['instances', 'logs'], until: '0s' })
    expect(body.items.map(({ kind }: { kind: string }) => kind)).toEqual(['instance', 'log'])
    const bad = await workspaceCli(['system', 'prune', '--json', '--dry-run', '--until', 'soon'], environment)
    expect([bad.status, bad.stderr]).toEqual([1, expect.stringMatching(/until "soon" must be a duration/)])
    expect(disk.has('uppers/stray')).toBe(true)
  })

  test('exits with 1 when an item cannot be deleted', async () => {
    const { environment, disk } = await served(old)
    writeFileSync(disk.at('uppers/old/precious'), 'x')
    const { status, stdout } = await workspaceCli(['system', 'prune', '--json', '--force'], environment)
    expect([status, JSON.parse(stdout).items[0].action]).toEqual([1, 'failed'])
  })

  test('exits with 0 with --all when servers are offline or do not support pruning', async () => {
    const { server, disk } = await served(old)
    const earlier = createServer((request, response) => {
      const isInfo = request.url === '/api/info'
      response.writeHead(isInfo ? 200 : 404, { 'content-type': 'application/json' })
      response.end(
        isInfo ? '{}' : JSON.stringify({ error: { code: 'ROUTE_NOT_FOUND', message: 'no such route' } }),
      )
    })
    await new Promise<void>((resolve) => earlier.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void earlier.close())
    const { port } = earlier.address() as AddressInfo
    const config = join(tempDir(), 'cli.yaml')
    const servers = {
      here: { url: server.url },
      earlier: { url: `http://127.0.0.1:${port}` },
      away: { url: 'http://127.0.0.1:9' },
    }
    writeFileSync(config, JSON.stringify({ servers }))
    const environment = userEnvironment({ WORKSPACE_CLI_CONFIG: config })
    const { status, stdout } = await workspaceCli(
      ['system', 'prune', '--all', '--json', '--force'],
      environment,
    )
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      servers: [
        { server_name: 'here', result: { dry_run: false, items: [{ name: 'old', action: 'deleted' }] } },
        {
          server_name: 'earlier',
          error: expect.stringMatching(/does not support this/) as unknown,
        },
        { server_name: 'away', error: expect.stringMatching(/is not responding/) as unknown },
      ],
    })
    expect(disk.has('uppers/old')).toBe(false)
    const usage = await workspaceCli(['system', 'df', '--all'], environment)
    expect(usage.status).toBe(0)
    expect(JSON.parse(usage.stdout).servers.map((each: object) => Object.keys(each))).toEqual([
      ['server_name', 'usage'],
      ['server_name', 'error'],
      ['server_name', 'error'],
    ])
  })
})
