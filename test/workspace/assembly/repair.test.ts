import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isRepairable, repair } from '../../../src/workspace/assembly/repair.ts'
import type { Check, Repair } from '../../../src/workspace/check.ts'
import { tempDir } from '../../support/temp-dir.ts'

const check = (needed: Repair | undefined, ok = false): Check => ({
  name: 'part',
  ok,
  found: '',
  remedy: '',
  repair: needed,
})

test('each command runs once, and one that fails is reported with what it printed last', async () => {
  const file = join(tempDir(), 'runs')
  const count = check({ argv: ['sh', '-c', `echo run >>${file}`] })
  const failing = check({ argv: ['sh', '-c', 'seq 100; echo "out of paper" >&2; exit 3'] })
  const missing = check({ argv: ['/missing-program'] })
  const begun: string[] = []
  const results = await repair([count, failing, count, missing, check(undefined)], (line) => begun.push(line))
  expect(begun).toEqual(results.map(({ command }) => command))
  expect(readFileSync(file, 'utf8')).toBe('run\n')
  expect(results.map(({ error }) => error)).toEqual([
    undefined,
    'exit status 3\n97\n98\n99\n100\nout of paper',
    'spawn /missing-program ENOENT',
  ])
})

test('what is not missing is not repaired', async () => {
  const fine = check({ argv: ['/missing-program'] }, true)
  expect([isRepairable(fine), await repair([fine], () => undefined)]).toEqual([false, []])
})

test('packages are not installed without root', async () => {
  const uid = vi.spyOn(process, 'getuid').mockReturnValue(1_000)
  onTestFinished(() => uid.mockRestore())
  const missing = [check({ package: 'nftables' }), check({ package: 'tar' }), check({ package: 'nftables' })]
  const begun: string[] = []
  expect(await repair(missing, (line) => begun.push(line))).toEqual([
    {
      command: 'apt-get install nftables tar',
      error: 'requires root on Debian or Ubuntu; install them in another way',
    },
  ])
  expect(begun).toEqual([])
})
