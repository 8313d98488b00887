import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { canStartPrograms } from '../../../../src/native/programs/programs.ts'
import { onTerminal } from '../../../support/supervisor/on-terminal.ts'
import { supervisorUser } from '../../../support/supervisor/supervisor-cli.ts'
import { waitFor } from '../../../support/wait-for.ts'

const DOWN = '\u001b[B'
const ESCAPE = '\u001b'
const WAIT = 'exec sleep 1000'

describe.runIf(canStartPrograms())('top', () => {
  test('keys that arrive together or in pieces act on the process that the user chose', async () => {
    const names = ['a', 'b', 'c', 'd']
    const user = await supervisorUser(Object.fromEntries(names.map((name) => [name, { cmd: WAIT }])))
    await user.up()
    const pids = (): Promise<readonly unknown[]> =>
      Promise.all(names.map(async (name) => (await user.ask(`/processes/${name}`)).pid))
    const before = await pids()
    const top = onTerminal(user, ['top'])
    await top.untilShown(/d +running/)
    // Replies and keys of the keypad whose last characters are commands: none of them acts.
    top.type('\u001b]11;rgb:1e1e/1e1e/1e1e\u0007\u001bOx\u001bOr\u001b[M rr')
    // In application mode, and with a pause inside a key, after which Escape goes back from nothing.
    top.type(`${DOWN}\u001bOB${DOWN}${ESCAPE}`)
    await top.untilShown('d  1 logs')
    top.type('[A')
    await top.untilShown('c  1 logs')
    top.type(`\u001b[1;5A${DOWN}${DOWN}\u001b[`)
    await top.untilShown('d  1 logs')
    top.type('Ax/no\rqx')
    expect(await top.ended).toBe(0)
    await waitFor('the stop', async () => (await pids())[2] === 0)
    expect(await pids()).toEqual([before[0], before[1], 0, before[3]])
  })

  test('no key acts after the selected process was removed from the configuration', async () => {
    const user = await supervisorUser({ a: { cmd: WAIT }, b: { cmd: WAIT }, c: { cmd: WAIT } })
    await user.up()
    const top = onTerminal(user, ['top'])
    await top.untilShown(/c +running/)
    top.type(DOWN)
    await top.untilShown('b  1 logs')
    const file = join(user.dir, 'supervisor.yaml')
    const { processes, ...settings } = parse(readFileSync(file, 'utf8'))
    writeFileSync(file, stringify({ ...settings, processes: { a: processes.a, c: processes.c } }))
    expect(await user.supervisor('reload')).toMatchObject({ status: 0 })
    await top.untilShown('process "b" no longer exists; select another')
    top.type('xr')
    top.type('t')
    await top.untilShown('? help')
    expect((await user.ask('/processes/a')).status).toBe('running')
    expect((await user.ask('/processes/c')).status).toBe('running')
    top.type(DOWN)
    await top.untilShown('a  1 logs')
    top.type('q')
    expect(await top.ended).toBe(0)
  })
})
