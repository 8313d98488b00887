import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Random } from '../../../src/lib/random/random.ts'
import { findMachine } from '../../../src/workspace/backend/microvm/stray-machines.ts'
import { serve } from '../../support/served.ts'
import { rounds } from '../../support/rounds.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { COUNT, runInside } from '../../support/vm/run-inside.ts'
import { machineRoots, vmSettings } from '../../support/vm/vm-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeWorkspace } from '../../support/workspace/server/test-server.ts'
import { SEED } from '../../support/seed.ts'

const KILLS = rounds(8, 200)
const LONGEST_MS = 3_000
const roots = machineRoots()
function names(directory: string): readonly string[] {
  const path = join(roots.root, directory)
  return existsSync(path) ? readdirSync(path).toSorted() : []
}

test(
  'F1 no machine is lost, doubled or left over after kills of the server during suspends, resumes and forks',
  { timeout: 120_000 + KILLS * 60_000 },
  async () => {
    onTestFinished(() => {
      // Of a test that failed.
      for (const pid of monitors()) process.kill(Number(pid), 'SIGKILL')
      roots.remove()
    })
    const random = new Random(SEED)
    const stateDir = join(tempDir(), 'state')
    const base = await vmSettings(roots)
    // A serial line: vhost-device-vsock cannot be suspended.
    const settings = { ...base, qemu: { ...base.qemu, vhost_device_vsock: '/nonexistent' } }
    let server = await serve({ stateDir, settings })
    const at = (path: string, method = 'GET', body?: object) => server.api(`workspaces${path}`, method, body)
    const list = async (): Promise<readonly { readonly name: string; readonly status: string }[]> =>
      (await at('')).body.workspaces
    await makeWorkspace(server.url, { name: 'main' })
    const exec = (name: string, command: string) => runInside(`${server.url}/api/workspaces/${name}`, command)
    const start = async (name: string, what: string): Promise<void> => {
      const { status, body } = await at(`/${name}/start`, 'POST')
      expect(status, `${what}: start ${name}: ${JSON.stringify(body)}\n${server.log()}`).toBe(200)
    }
    await exec('main', COUNT)
    let count = 0
    let forks = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const action = random.pick(['suspend', 'start', 'fork', 'fork of a suspended'])
      const what = `kill ${kill}, ${action}`
      const child = `fork-${forks}`
      if (action === 'start' || action === 'fork of a suspended')
        expect((await at('/main/suspend', 'POST')).status, what).toBe(200)
      const isFork = action.startsWith('fork')
      const request = isFork
        ? at('/main/fork', 'POST', { names: [child], memory: true })
        : at(`/main/${action}`, 'POST')
      const answered = request.then(({ status }) => status).catch(() => undefined)
      const status = await Promise.race([answered, delay(random.below(LONGEST_MS))])
      await server.end('SIGKILL')
      server = await serve({ stateDir, settings })

      const after = await list()
      const [main, ...others] = after
        .toSorted((a, b) => b.name.localeCompare(a.name))
        .map((each) => `${each.name} ${each.status}`)
      expect(main, `${what}: ${JSON.stringify(after)}`).toMatch(
        status === undefined || isFork
          ? /^main (running|suspended)$/
          : action === 'suspend'
            ? /^main suspended$/
            : /^main running$/,
      )
      const hasChild = others.length > 0
      if (isFork && status === 201) expect(others, what).toEqual([`${child} running`])
      else if (hasChild) expect(others, what).toEqual([`${child} running`])
      expect(hasChild && !isFork, what).toBe(false)

      if (main === 'main suspended') await start('main', what)
      // Much sooner than the agent itself lets frozen programs continue.
      const goesOn = async (): Promise<boolean> => {
        const now = Number(await exec('main', 'cat /dev/shm/n'))
        const isLater = now > count
        if (isLater) count = now
        return isLater
      }
      await waitFor(`${what}: the program to continue`, goesOn)
      if (hasChild) {
        expect(Number(await exec(child, 'cat /dev/shm/n')), what).toBeGreaterThan(0)
        expect(await exec(child, 'hostname'), what).toBe(child)
        expect((await at(`/${child}`, 'DELETE')).status, what).toBe(204)
      }
      if (isFork) forks++
      await waitFor(`${what}: no copy to be left`, () => names('forks').length === 0)
      expect(names('instances'), what).toEqual(['main'])
      expect(names('uppers'), what).toEqual(['main'])
      expect(names('instances/main'), what).not.toContain('memory')
      expect(monitors().length, what).toBe(1)
    }
    expect((await at('/main', 'DELETE')).status).toBe(204)
    expect(await findMachine({ disk: join(roots.root, 'uppers/main/upper.ext4') })).toEqual([])
    expect([...names('instances'), ...names('uppers'), ...readdirSync(roots.runDir)]).toEqual([])
    expect(monitors()).toEqual([])
  },
)

/** Returns the process ids of monitors whose files are below this test's root. */
function monitors(): readonly string[] {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isMonitor(pid))
}

function isMonitor(pid: string): boolean {
  try {
    if (!readlinkSync(`/proc/${pid}/exe`).includes('/qemu-system')) return false
    const descriptors = readdirSync(`/proc/${pid}/fd`)
    return descriptors.some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith(roots.root))
  } catch {
    // It has just exited.
    return false
  }
}
