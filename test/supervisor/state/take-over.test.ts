import { writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { canStartPrograms } from '../../../src/native/programs.ts'
import { NativeRunner } from '../../../src/supervisor/process/native-runner.ts'
import type { Outputs, RecordedProgram } from '../../../src/supervisor/process/process-runner.ts'
import { StrayFinder } from '../../../src/supervisor/process/process-tree.ts'
import { processSpec } from '../../support/process-spec.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

/** What a supervisor runs programs with; another one of the same instance is the next supervisor's. */
function openRunner(): NativeRunner {
  const runner = new NativeRunner({
    instance: 'take-over-test',
    environment: { PATH: process.env['PATH'] },
    strays: new StrayFinder('take-over-test', false),
    groups: undefined,
    reaper: undefined,
    warn: () => undefined,
  })
  onTestFinished(() => runner.close())
  return runner
}

/** Reads both outputs of a program; `close` lets go of them, as a supervisor's death does. */
function read(outputs: Outputs) {
  const lines: [string[], string[]] = [[], []]
  const sockets = outputs.map((fd) => new Socket({ fd: fd as number, readable: true, writable: false }))
  for (const [i, socket] of sockets.entries())
    createInterface({ input: socket.on('error', () => undefined) }).on('line', (line) => lines[i]?.push(line))
  const close = (): void => sockets.forEach((socket) => void socket.destroy())
  onTestFinished(close)
  return { lines, close }
}

/** A program as the record of the supervisor that started it has it, with what it has printed so far. */
async function leaveBehind(script: string): Promise<RecordedProgram> {
  const cwd = tempDir()
  writeFileSync(join(cwd, 'script'), script)
  const spec = processSpec('web', { command: ['bash', 'script'], cwd })
  const { program, outputs } = openRunner().start(spec, () => undefined)
  onTestFinished(() => program.signal('SIGKILL'))
  const { lines, close } = read(outputs)
  await waitFor('its first line', () => lines.flat().length > 0)
  close()
  const { pid, traces } = program
  return { name: 'web', pid, pipes: traces?.pipes ?? [] }
}

const COUNT = 'i=0; while sleep 0.005; do i=$((i+1)); echo "n $i"; echo "e $i" >&2; done'

describe.runIf(canStartPrograms())('F26 output that is read after a take-over', () => {
  test.each([
    ['as it was', '', /^n \d+$/, /^e \d+$/],
    ['exchanged', 'exec 3>&1 1>&2 2>&3 3>&-;', /^e \d+$/, /^n \d+$/],
    ['piped through another program', 'exec > >(sed -u "s/^/via /");', /^via n \d+$/, /^e \d+$/],
    ['errors piped', 'exec 2> >(sed -u "s/^/via /" >&2);', /^n \d+$/, /^via e \d+$/],
    ['all of it piped', 'exec > >(sed -u "s/^/via /") 2>&1;', /^via [ne] \d+$/, undefined],
    ['through a FIFO with a name', 'mkfifo f; sed -u "s/^/via /" f & exec > f;', /^via n \d+$/, /^e \d+$/],
    ['on another descriptor alone', 'exec 5>&1 >/dev/null; echo kept >&5;', undefined, /^e \d+$/],
  ])('is the supervisor’s alone: %s', async (_what, redirection, stdout, stderr) => {
    const run = await leaveBehind(redirection + COUNT)
    const adopted = openRunner().adopt(run, () => undefined)
    const { lines } = read(adopted?.outputs ?? [-1, -1])
    const wanted = [stdout, stderr] as const
    await waitFor('lines', () =>
      wanted.every((pattern, i) => pattern === undefined || (lines[i]?.length ?? 0) > 60),
    )
    for (const [i, pattern] of wanted.entries()) {
      // The first may be the rest of a line that was half read.
      const whole = lines[i]?.slice(1) ?? []
      if (pattern === undefined) expect(whole).toEqual([])
      else expect(whole.filter((line) => !pattern.test(line))).toEqual([])
      // Nobody else has read any.
      const counted = whole
        .filter((line) => line.includes('n '))
        .map((line) => Number(line.split(' ').at(-1)))
      expect(counted).toEqual(counted.map((_, at) => (counted[0] ?? 0) + at))
    }
  })
})
