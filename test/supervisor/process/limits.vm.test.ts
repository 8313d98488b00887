import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Backend } from '../../../src/workspace/backend/backend.ts'
import { createIn, outputOf, sh } from '../../support/workspace/backend/backends.ts'
import { machineRoots, qemuBackend } from '../../support/vm/vm-server.ts'

/** This checkout, mounted at /workspace, with its own Node because the machine has none. */
const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const SUPERVISOR = '/workspace/dist/guest/node /workspace/dist/src/bin/supervisor.js'
const CGROUPS = '/sys/fs/cgroup'
const CONFIG = `
processes:
  quiet: {cmd: exec sleep 1000, limits: {memory: 64MiB, cpus: 0.5}}
  busy: {cmd: 'while :; do :; done', limits: {cpus: 0.1}}
  greedy:
    cmd: exec perl -e '$much = "x" x (200 << 20); sleep 1000'
    restart: never
    limits: {memory: 32MiB}
`

const roots = machineRoots()
let backend: Backend
const inside = async (command: string): Promise<string> => {
  const { stdout, stderr, status } = await outputOf(backend, 'limits', { ...sh(command), user: 'root' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.trim()
}

beforeAll(async () => {
  backend = await qemuBackend(roots)
  await backend.open(() => undefined)
  await createIn(backend, 'limits', checkout)
})
afterAll(async () => {
  await backend.remove('limits', false)
  await backend.close()
  roots.remove()
})

test('a supervisor in its own control group enforces its processes’ memory and CPU limits', async () => {
  // Started as by a service manager that delegates its control group.
  await inside(`mkdir /srv/project && cat >/srv/project/supervisor.yaml <<'END'\n${CONFIG}END
    mount -t cgroup2 none ${CGROUPS} && cd ${CGROUPS} && echo +memory +cpu >cgroup.subtree_control && mkdir service
    cd /srv/project && sh -c 'echo $$ >${CGROUPS}/service/cgroup.procs && exec ${SUPERVISOR} up' >log 2>&1 </dev/null &`)
  const service = `${CGROUPS}/service`
  const until = (condition: string) => inside(`until { ${condition}; } 2>/dev/null; do sleep 0.5; done`)
  await until(`grep -q 'nr_throttled [1-9]' ${service}/supervisor-*/busy/cpu.stat`)
  await until('grep -q "greedy is crashed" /srv/project/log')
  expect(await inside('cat /srv/project/log')).toContain(
    'exited with signal SIGKILL: out of memory (limits.memory)',
  )
  const limits = `cd ${service}/supervisor-*/quiet && cat memory.max cpu.max`
  expect(await inside(limits)).toBe(`${64 << 20}\n50000 100000`)
  // It returns to its original group and leaves no groups behind.
  await inside(`kill $(cat ${service}/supervisor-*-itself/cgroup.procs)`)
  await until(`[ -z "$(cat ${service}/cgroup.procs ${service}/*/cgroup.procs)" ]`)
  expect(await inside(`find ${service} -mindepth 1 -type d; cat ${service}/cgroup.subtree_control`)).toBe('')
})
