import { existsSync, mkdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readProcStat } from '../../../src/lib/process/proc-stat.ts'
import { canStartPrograms } from '../../../src/native/programs/programs.ts'
import { ControlGroups, findGroup } from '../../../src/supervisor/process/control-groups.ts'
import { NativeRunner } from '../../../src/supervisor/process/native-runner.ts'
import type { Outputs, RecordedProgram } from '../../../src/supervisor/process/process-runner.ts'
import { StrayFinder } from '../../../src/supervisor/process/process-tree.ts'
import { sample } from '../../support/rounds.ts'
import { processSpec } from '../../support/supervisor/process-spec.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Opens a supervisor's runner; another one of the same instance represents the next supervisor. */
function openRunner(groups?: ControlGroups, strays = new StrayFinder('take-over-test', false)): NativeRunner {
  const runner = new NativeRunner({
    instance: 'take-over-test',
    environment: { PATH: process.env['PATH'] },
    strays,
    groups,
    reaper: undefined,
    warn: () => undefined,
  })
  onTestFinished(() => runner.close())
  return runner
}

/** Reads both outputs of a program; `close` releases them, as a supervisor's crash does. */
function read(outputs: Outputs) {
  const lines: [string[], string[]] = [[], []]
  const sockets = outputs.map((fd) => new Socket({ fd: fd as number, readable: true, writable: false }))
  for (const [i, socket] of sockets.entries())
    createInterface({ input: socket.on('error', () => undefined) }).on('line', (line) => lines[i]?.push(line))
  const close = (): void => sockets.forEach((socket) => void socket.destroy())
  onTestFinished(close)
  return { lines, close }
}

/** Starts a program and returns its record, as left behind by a supervisor. */
async function leaveBehind(script: string, groups?: ControlGroups): Promise<RecordedProgram> {
  const cwd = tempDir()
  writeFileSync(join(cwd, 'script'), script)
  const spec = processSpec('web', { command: ['bash', 'script'], cwd })
  const { program, outputs } = openRunner(groups).start(spec, () => undefined)
  onTestFinished(() => {
    program.signal('SIGKILL')
    return waitFor('the end of it', () => !program.hasLeftovers())
  })
  const { lines, close } = read(outputs)
  await waitFor('its first line', () => lines.flat().length > 0)
  close()
  const { pid, traces } = program
  const began = readProcStat(pid)?.began ?? ''
  return { name: 'web', pid, began, pipes: traces?.pipes ?? [], group: traces?.group ?? null }
}

const COUNT = 'i=0; while sleep 0.005; do i=$((i+1)); echo "n $i"; echo "e $i" >&2; done'

describe.runIf(canStartPrograms())('F26 output read after a take-over', () => {
  const redirections = [
    ['as it was', '', /^n \d+$/, /^e \d+$/],
    ['exchanged', 'exec 3>&1 1>&2 2>&3 3>&-;', /^e \d+$/, /^n \d+$/],
    ['piped through another program', 'exec > >(sed -u "s/^/via /");', /^via n \d+$/, /^e \d+$/],
    ['errors piped', 'exec 2> >(sed -u "s/^/via /" >&2);', /^n \d+$/, /^via e \d+$/],
    ['all of it piped', 'exec > >(sed -u "s/^/via /") 2>&1;', /^via [ne] \d+$/, undefined],
    ['through a FIFO with a name', 'mkfifo f; sed -u "s/^/via /" f & exec > f;', /^via n \d+$/, /^e \d+$/],
    ['on another descriptor alone', 'exec 5>&1 >/dev/null; echo kept >&5;', undefined, /^e \d+$/],
  ] as const
  test.each(sample(redirections, 4))(
    'belongs only to the supervisor: %s',
    async (_what, redirection, stdout, stderr) => {
      const run = await leaveBehind(redirection + COUNT)
      const adopted = openRunner().adopt(run, () => undefined)
      const { lines } = read(adopted?.outputs ?? [-1, -1])
      const wanted = [stdout, stderr] as const
      await waitFor('lines', () =>
        wanted.every((pattern, i) => pattern === undefined || (lines[i]?.length ?? 0) > 60),
      )
      for (const [i, pattern] of wanted.entries()) {
        // The first may be the rest of a partially read line.
        const whole = lines[i]?.slice(1) ?? []
        if (pattern === undefined) expect(whole).toEqual([])
        else expect(whole.filter((line) => !pattern.test(line))).toEqual([])
        // No other reader received any.
        const counted = whole
          .filter((line) => line.includes('n '))
          .map((line) => Number(line.split(' ').at(-1)))
        expect(counted).toEqual(counted.map((_, at) => (counted[0] ?? 0) + at))
      }
    },
  )
})

test.runIf(canStartPrograms())(
  'V6 a program whose id is reused during the take-over is neither followed nor signaled',
  async () => {
    const run = await leaveBehind('echo ready; exec sleep 1000')
    const strays = new StrayFinder('take-over-test', false)
    const runner = openRunner(undefined, strays)
    // As if the program had exited and its id had been reused since the record was read.
    for (const began of ['1', String(Number(run.began) - 1), String(Number(run.began) + 1), '']) {
      const exits: unknown[] = []
      expect(runner.adopt({ ...run, began }, (exit) => exits.push(exit))).toBeUndefined()
      expect(strays.isLeader(run.pid)).toBe(false)
    }
    expect(readProcStat(run.pid)?.began).toBe(run.began)
    // The program itself can still be taken over.
    const ended = Promise.withResolvers<void>()
    const adopted = runner.adopt(run, () => ended.resolve())
    adopted?.program.signal('SIGKILL')
    await ended.promise
  },
)

/** Opens control groups as a supervisor started elsewhere; undefined if they are not writable. */
function openGroups(name: string): ControlGroups | undefined {
  return ControlGroups.open(`supervisor-${name}-${process.pid}`)
}

function areControlGroupsThere(): boolean {
  const groups = openGroups('probe')
  groups?.close()
  return groups !== undefined
}

describe.runIf(canStartPrograms() && areControlGroupsThere())('F26 control groups after a take-over', () => {
  /** Starts an unmarked daemon in a separate session whose parent exits. */
  const DAEMON = `env -i /usr/bin/setsid -f /bin/sh -c 'trap "" TERM; sleep 1000'; echo ready; exec sleep 1000`

  test('a supervisor that runs elsewhere finds and stops all descendants of a program', async () => {
    const [before, after] = [openGroups('before'), openGroups('after')]
    const run = await leaveBehind(DAEMON, before)
    const next = openRunner(after)
    let hasEnded = false
    const program = next.adopt(run, () => (hasEnded = true))?.program
    expect(program?.traces).toEqual({ pipes: run.pipes, group: run.group })
    // The daemon's shell and its child.
    await waitFor('the daemon', () => program?.leftovers().length === 3)
    program?.signal('SIGKILL')
    await waitFor('its end', () => hasEnded && program?.hasLeftovers() === false)
    next.close()
    after?.close()
    // The groups of the earlier supervisor are removed too.
    expect(existsSync(join(run.group?.path ?? '', '..'))).toBe(false)
  })

  test('a group created in place of the recorded one is not used', async () => {
    const groups = openGroups('reused')
    onTestFinished(() => groups?.close())
    const { group } = await leaveBehind('echo ready; exec sleep 1000', groups)
    const path = `${group?.path}-other`
    mkdirSync(path)
    onTestFinished(() => rmdirSync(path))
    expect(findGroup({ path, inode: group?.inode ?? '' })).toBeUndefined()
    expect(findGroup({ path: group?.path ?? '', inode: group?.inode ?? '' })?.pids()).toHaveLength(1)
  })

  test('a group that the supervisor itself is in is not killed', async () => {
    const groups = openGroups('around')
    onTestFinished(() => groups?.close())
    const { group } = await leaveBehind('echo ready; exec sleep 1000', groups)
    // The group of this process, which contains all groups it creates.
    const path = join(group?.path ?? '', '../..')
    expect(findGroup({ path, inode: String(statSync(path).ino) })).toBeUndefined()
  })
})
