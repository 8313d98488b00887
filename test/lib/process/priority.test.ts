import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'

const moduleOf = (path: string) => JSON.stringify(join(packageRoot, path))
const PROGRAM = String.raw`
  import { readFileSync, readdirSync } from 'node:fs'
  import { getPriority } from 'node:os'
  import { raisePriority } from ${moduleOf('src/lib/process/priority.ts')}
  import { run } from ${moduleOf('src/lib/process/run.ts')}
  const find = (text, pattern) => { const found = pattern.exec(text)?.[1]; return found === undefined ? null : Number(found) }
  const read = (file, pattern) => { try { return find(readFileSync(file, 'utf8'), pattern) } catch { return null } }
  const SLICE = /se\.slice\s*:\s*(\d+)/
  const group = () => read('/proc/self/autogroup', /nice (-?\d+)/)
  // Field 19 of proc(5); the name before may have spaces.
  const nicenessOf = (thread) => Number(readFileSync('/proc/self/task/' + thread + '/stat', 'latin1').split(') ').at(-1).split(' ')[16])
  const before = { niceness: getPriority(), group: group() }
  raisePriority()
  const raised = { niceness: getPriority(), group: group(), slice: read('/proc/self/sched', SLICE) }
  const threads = readdirSync('/proc/self/task').map(nicenessOf)
  const child = {
    niceness: Number((await run('nice', [])).stdout),
    slice: find((await run('cat', ['/proc/self/sched'])).stdout, SLICE),
  }
  console.log(JSON.stringify({ before, raised, threads, child }))`

interface Scheduling {
  readonly niceness: number
  /** Niceness of the session, if the kernel weighs sessions. */
  readonly group: number | null
  /** In nanoseconds, if the kernel reports it. */
  readonly slice: number | null
}

interface Played {
  readonly before: Scheduling
  readonly raised: Scheduling
  readonly threads: readonly number[]
  readonly child: Omit<Scheduling, 'group'>
}

async function play(...starter: readonly string[]): Promise<Played> {
  const node = [process.execPath, '--input-type=module', '--eval', PROGRAM]
  const [program = '', ...argv] = [...starter, ...node]
  const { stdout, stderr } = await run(program, argv)
  expect(stderr).toBe('')
  return JSON.parse(stdout) as Played
}

describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)('as root', () => {
  test('a raised process has a higher priority than the programs that it starts, in all its threads', async () => {
    const { raised, threads, child } = await play()
    expect(raised.niceness).toBe(-10)
    expect(new Set(threads)).toEqual(new Set([-10]))
    expect(child.niceness).toBe(0)
    if (raised.slice !== null && child.slice !== null) expect(raised.slice).toBeLessThanOrEqual(child.slice)
  })

  test('only the process that started a session raises it', async () => {
    const { before, raised } = await play()
    expect(raised.group).toBe(before.group)
    const leader = await play('setsid', '--wait')
    expect(leader.raised.group).toBe(existsSync('/proc/self/autogroup') ? -10 : null)
  })

  test.each([
    ['that was given a niceness', ['nice', '-n', '3']],
    ['that may not be raised', ['setpriv', '--bounding-set=-sys_nice', '--inh-caps=-all', '--']],
  ])('a process %s continues unchanged', async (_why, starter) => {
    const { before, raised, child } = await play(...starter)
    expect(raised.niceness).toBe(before.niceness)
    expect(raised.group).toBe(before.group)
    expect(child.niceness).toBe(before.niceness)
  })
})
