import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readProcStat } from '../../../../src/lib/process/proc-stat.ts'
import { canStartPrograms } from '../../../../src/native/programs/programs.ts'
import { onTerminal } from '../../../support/supervisor/on-terminal.ts'
import { type SupervisorUser, supervisorUser } from '../../../support/supervisor/supervisor-cli.ts'
import { waitFor } from '../../../support/wait-for.ts'

const ECHO = { cmd: 'echo ready; while :; do read -r line && echo "<$line>"; done', tty: true }
const DETACH = '\u0010\u0011'

describe.runIf(canStartPrograms())('attach', () => {
  test('types, resizes and detaches, and the process keeps running', async () => {
    const user = await supervisorUser({ repl: { ...ECHO, cmd: `trap "stty size" WINCH; ${ECHO.cmd}` } })
    await user.up()
    const one = onTerminal(user, ['attach', 'repl'], { columns: 100, rows: 30 })
    await one.until('ready')
    one.type('hello\r')
    await one.until('<hello>')
    // Translated once, by the terminal of the process.
    expect(one.output()).toContain('ready\r\n')
    const two = onTerminal(user, ['attach', 'repl', '--detach-keys', 'ctrl-]'], { columns: 90, rows: 20 })
    await two.until('<hello>')
    two.type('from two\r')
    await one.until('<from two>')
    two.type('\u001d')
    expect(await two.ended).toBe(0)
    await two.until('detached from repl, which keeps running')
    one.resize(111, 33)
    await one.until('33 111')
    one.type(DETACH)
    expect(await one.ended).toBe(0)
    expect((await user.ask('/processes/repl')).status).toBe('running')
  })

  test('ends when the process stays down, with the reason', async () => {
    const user = await supervisorUser({
      repl: { cmd: 'echo ready; read -r line; exit 4', tty: true, restart: 'never' },
    })
    await user.up()
    const attached = onTerminal(user, ['attach', 'repl'])
    await attached.until('ready')
    attached.type('x\r')
    expect(await attached.ended).toBe(0)
    await attached.until('repl is crashed: exited with status 4')
  })

  test('restores the screen of the user after a program that uses the whole of it', async () => {
    const user = await supervisorUser({
      repl: { cmd: 'printf "\\033[?1049h\\033[?25lscreen"; exec sleep 1000', tty: true },
    })
    await user.up()
    const attached = onTerminal(user, ['attach', 'repl'])
    await attached.until('screen')
    attached.type(DETACH)
    await attached.ended
    await expect.poll(attached.output).toContain('\u001b[?1049l\u001b[?25h')
  })

  test('works on a terminal of unknown size', async () => {
    const user = await supervisorUser({ repl: ECHO })
    await user.up()
    const attached = onTerminal(user, ['attach', 'repl'], undefined, { setUp: 'stty cols 0 rows 0' })
    await attached.until('ready')
    attached.type(`hello\r${DETACH}`)
    expect(await attached.ended).toBe(0)
    await waitFor('the input', async () => (await user.ask('/logs?pattern=%3Chello')).filtered_count === 1)
  })

  test('without a terminal explains what to do', async () => {
    const user = await supervisorUser({ repl: ECHO, plain: { cmd: 'echo one line; exec sleep 1000' } })
    await user.up()
    expect(await user.supervisor('attach', 'repl')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('use "supervisor logs -f repl" instead'),
    })
    const plain = onTerminal(user, ['attach', 'plain'])
    await plain.until('one line')
    expect(plain.output()).toContain('plain has no terminal ("tty: true"); showing its output')
    plain.type('\u0003')
    expect(await plain.ended).toBe(0)
    expect(await user.supervisor('attach', '--detach-keys', 'hello')).toMatchObject({ status: 2 })
  })

  test('F26 the process of a killed supervisor ends with its terminal, and the next one starts it once', async () => {
    const user = await supervisorUser({
      // It survives the loss of its terminal, so that only the next supervisor can stop it.
      repl: { cmd: 'trap "" HUP; echo ready; while :; do sleep 0.05; done', tty: true },
      plain: { cmd: 'exec sleep 1000' },
    })
    const first = await user.up()
    await waitFor('the start', async () => (await user.ask('/logs?pattern=ready')).filtered_count === 1)
    const before = (await user.ask('/processes/repl')).pid
    const plain = (await user.ask('/processes/plain')).pid
    await waitFor('the record', () => recordOf(user).includes(String(plain)))
    expect(recordOf(user)).not.toContain(`"pid":${before},`)
    first.child.kill('SIGKILL')
    await first.ended
    await user.up()
    const { pid, status } = await user.ask('/processes/repl')
    expect(status).toBe('running')
    expect(pid).not.toBe(before)
    expect(isAlive(before)).toBe(false)
    expect((await user.ask('/processes/plain')).pid).toBe(plain)
  })
})

/** Returns the record of running programs. */
function recordOf({ dir }: SupervisorUser): string {
  const state = join(dir, '.supervisor/state')
  const [file] = globSync('*/runs.json', { cwd: state })
  return file === undefined ? '' : readFileSync(join(state, file), 'utf8')
}

/** Whether a process is running; zombies are not. */
function isAlive(pid: number): boolean {
  const state = readProcStat(pid)?.state
  return state !== undefined && state !== 'Z'
}
