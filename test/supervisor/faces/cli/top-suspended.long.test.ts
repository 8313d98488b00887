import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { canStartPrograms } from '../../../../src/native/programs/programs.ts'
import { onTerminal } from '../../../support/supervisor/on-terminal.ts'
import { supervisorUser } from '../../../support/supervisor/supervisor-cli.ts'
import { waitFor } from '../../../support/wait-for.ts'

const PROCESSES = { web: { cmd: 'exec sleep 1000' } }

describe.runIf(canStartPrograms())('top', () => {
  test('Ctrl-Z returns to the shell, and fg continues the view', async () => {
    const user = await supervisorUser(PROCESSES)
    await user.up()
    const shell = onTerminal(user, [], undefined, { setUp: 'exec bash --norc -i' })
    const { terminal } = shell
    const isIn = (type: string): Promise<void> =>
      waitFor(`the ${type} screen`, () => terminal.buffer.active.type === type)
    shell.type(`${process.execPath} ${user.program} top\r`)
    await shell.untilShown(/web +running/)
    for (const round of [1, 2]) {
      shell.type('\u001a')
      await shell.untilShown('Stopped')
      await isIn('normal')
      // What the shell reads is shown, and ends with Enter, as before.
      shell.type(`clear; echo $((40 + ${round}))\r`)
      await shell.untilShown(`${40 + round}`)
      expect(terminal.modes).toMatchObject({ wraparoundMode: true, mouseTrackingMode: 'none' })
      shell.type('fg\r')
      await isIn('alternate')
      await shell.untilShown(/web +running/)
    }
    // Another program can stop it as well.
    const child = execFileSync('pgrep', ['-P', String(shell.pid)], { encoding: 'utf8' })
    process.kill(Number(child), 'SIGSTOP')
    await shell.untilShown('Stopped')
    shell.type('clear; echo $((40 + 3))\r')
    await shell.untilShown(/^43/)
    shell.type('fg\r')
    await shell.untilShown(/^1 process [^]*web +running/)
    shell.type('q')
    await isIn('normal')
    shell.type('exit 7\r')
    expect(await shell.ended).toBe(7)
  })

  test('Ctrl-Z without a shell that controls jobs changes nothing', async () => {
    const user = await supervisorUser(PROCESSES)
    await user.up()
    const top = onTerminal(user, ['top'])
    await top.untilShown(/web +running/)
    top.type('\u001a')
    top.type('2')
    await top.untilShown('web is running')
    expect(top.terminal.buffer.active.type).toBe('alternate')
    top.type('q')
    expect(await top.ended).toBe(0)
  })
})
