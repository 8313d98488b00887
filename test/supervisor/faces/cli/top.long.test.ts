import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { canStartPrograms } from '../../../../src/native/programs/programs.ts'
import { KEYS, MOUSE } from '../../../../src/supervisor/faces/cli/top/state/keys.ts'
import { freePort } from '../../../support/services/free-port.ts'
import { onTerminal } from '../../../support/supervisor/on-terminal.ts'
import { askProxy } from '../../../support/supervisor/proxied.ts'
import { supervisorUser } from '../../../support/supervisor/supervisor-cli.ts'
import type { TerminalProgram } from '../../../support/terminal/program.ts'
import { waitFor } from '../../../support/wait-for.ts'

const DOWN = '\u001b[B'
const PAGE_UP = '\u001b[5~'
const HOME = '\u001b[H'
const END = '\u001b[F'
const ESCAPE = '\u001b'
const WAIT = 'exec sleep 1000'

const click = (column: number, row: number): string => `\u001b[<0;${column + 1};${row + 1}M`
const wheelUp = (column: number, row: number): string => `\u001b[<64;${column + 1};${row + 1}M`

/** Returns the columns of a row in which text is underlined, as hits are. */
function underlined({ terminal }: TerminalProgram, row: number): string {
  const line = terminal.buffer.active.getLine(row)
  return Array.from({ length: terminal.cols }, (_, column) => line?.getCell(column))
    .map((cell) => (cell?.isUnderline() ? cell.getChars() : ''))
    .join('')
}

describe.runIf(canStartPrograms())('top', () => {
  test.for([
    [80, 24],
    [120, 40],
    [200, 50],
    [40, 10],
  ] as const)('shows processes, reasons and lines on %d x %d', async ([columns, rows]) => {
    const user = await supervisorUser({
      alpha: { cmd: `echo from alpha; ${WAIT}` },
      broken: { cmd: 'echo cannot start >&2; exit 3', restart: 'never' },
    })
    await user.up()
    const top = onTerminal(user, ['top'], { columns, rows })
    await top.untilShown(/alpha +running[^]*\| from alpha/)
    top.type(DOWN)
    const screen = await top.untilShown(/broken +crashed.*exited[^]*! cannot start/)
    expect(screen[0]).toContain('2 processes, 1 crashed')
    expect(screen.at(-1)).toMatch(/^\? help/)
    expect(screen[1]?.includes('RESTARTS')).toBe(columns >= 120)
    expect(screen[1]?.includes('WHY')).toBe(true)
    // A wide terminal explains the state beside the lines.
    const isBeside = screen.some((row) => row.includes('│'))
    expect(isBeside).toBe(columns >= 160)
    if (isBeside) await top.untilShown('│ broken is crashed: exited with status 3')
    top.type('2')
    await top.untilShown('broken is crashed')
    for (const [newColumns, newRows] of [
      [100, 30],
      [40, 10],
      [3, 2],
      [columns, rows],
    ] as const) {
      top.resize(newColumns, newRows)
      await waitFor('the new size', () => (top.screen()[0] ?? '').length <= newColumns)
    }
    await top.untilShown(/2 processes[^]*\? help/)
    top.type('q')
    expect(await top.ended).toBe(0)
  })

  test('starts, stops and restarts, and asks before a terminal session is lost', async () => {
    const user = await supervisorUser({
      plain: { cmd: WAIT },
      repl: { cmd: 'read -r line', tty: true },
    })
    await user.up()
    const top = onTerminal(user, ['top'])
    await top.untilShown(/plain +running/)
    top.type('x')
    await top.untilShown(/plain +stopped/)
    top.type('s')
    await top.untilShown(/plain +running/)
    const before = (await user.ask('/processes/plain')).pid
    top.type('r')
    await waitFor(
      'another process',
      async () => ![0, before].includes((await user.ask('/processes/plain')).pid),
    )
    top.type('j')
    await top.untilShown('repl  1 logs')
    top.type('x')
    await top.untilShown('stop repl? Its terminal session will be lost')
    top.type('n')
    await top.untilShown('? help')
    // Pasted text is never a command.
    top.type('\u001b[200~xyx\u001b[201~')
    top.type('r')
    await top.untilShown('restart repl?')
    expect((await user.ask('/processes/repl')).status).toBe('running')
    top.type(ESCAPE)
    await top.untilShown('? help')
    top.type('x')
    await top.untilShown('stop repl?')
    top.type('y')
    await top.untilShown(/repl +stopped/)
    top.type('q')
    expect(await top.ended).toBe(0)
  })

  test('scrolls back through stored lines, follows, searches and filters', async () => {
    const user = await supervisorUser({
      counter: {
        cmd: `i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo "line $i"; done; echo "Last ERROR" >&2; touch printed; ${WAIT}`,
      },
      // After the lines of the other process, which would move it out of view.
      other: { cmd: `until [ -e printed ]; do sleep 0.1; done; echo from other; ${WAIT}` },
    })
    await user.up()
    const top = onTerminal(user, ['top'])
    await top.untilShown(/\| line 500\n! Last ERROR[^]*/)
    top.type(PAGE_UP)
    await top.untilShown('newer lines')
    expect(top.screen().join('\n')).not.toContain('Last ERROR')
    top.type(HOME)
    await top.untilShown(/\| line 1\n\| line 2\n/)
    top.type(END)
    await top.untilShown('following')
    top.type('/line 49')
    await top.untilShown('search: line 49')
    top.type('\r')
    const found = await top.untilShown('hit 11 of 11')
    const row = found.findIndex((each) => each.includes('line 499'))
    expect(underlined(top, row)).toContain('line 49')
    top.type('n')
    await top.untilShown('hit 10 of 11')
    // The oldest hit is far above the screen.
    top.type('n'.repeat(9))
    await top.untilShown(/hit 1 of 11[^]*\| line 49\n/)
    top.type('n')
    await top.untilShown('no older line contains "line 49"')
    top.type('N')
    await top.untilShown(/hit 2 of 11[^]*\| line 490\n/)
    top.type(ESCAPE)
    await top.untilShown(/newer lines$/m)
    top.type('ferror\r')
    await top.untilShown(/3 requests[^\n]*filter "error"\n! Last ERROR\n\n/)
    top.type(ESCAPE)
    await top.untilShown('newer lines')
    top.type(END)
    await top.untilShown('| line 500')
    top.type('a')
    await top.untilShown(/all processes[^]*other +\| from other/)
    top.type('t')
    await top.untilShown(/\d\d:\d\d:\d\d\.\d{3} counter ! Last ERROR/)
    top.type('q')
    expect(await top.ended).toBe(0)
  })

  test('the mouse selects processes and tabs, and scrolls', async () => {
    const user = await supervisorUser({
      alpha: { cmd: WAIT },
      beta: { cmd: `i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo "beta $i"; done; ${WAIT}` },
    })
    await user.up()
    const top = onTerminal(user, ['top'])
    const screen = await top.untilShown(/beta +running/)
    expect(top.terminal.modes.mouseTrackingMode).toBe('vt200')
    top.type(
      click(
        3,
        screen.findIndex((row) => row.startsWith('beta')),
      ),
    )
    await top.untilShown('| beta 100')
    top.type(wheelUp(3, 12))
    await top.untilShown('3 newer lines')
    const tabs = top.screen().findIndex((row) => row.includes('2 why'))
    top.type(click(top.screen()[tabs]?.indexOf('2 why') ?? 0, tabs))
    await top.untilShown('beta is running')
    top.type(wheelUp(3, 2))
    await top.untilShown('alpha is running')
    top.type('m')
    await waitFor('the mouse of the terminal', () => top.terminal.modes.mouseTrackingMode === 'none')
    top.type('q')
    expect(await top.ended).toBe(0)
  })

  test('shows requests with the lines that belong to them', async () => {
    const [port, proxyPort] = [await freePort(), await freePort()]
    const program = `require('http').createServer((q, r) => {
      console.log('asked for', q.url); r.statusCode = q.url === '/bad' ? 500 : 200; r.end()
    }).listen(${port}, '127.0.0.1')`
    const user = await supervisorUser(
      { web: { cmd: [process.execPath, '-e', program], proxy: { port } } },
      { proxy: { enabled: true, port: proxyPort } },
    )
    await user.up()
    await waitFor('the process', async () => (await askProxy(proxyPort, '/first')).status === 200)
    const top = onTerminal(user, ['top'])
    await top.untilShown('asked for /first')
    top.type('3')
    await top.untilShown(/200 +\d+ ms +GET +web \/first/)
    await askProxy(proxyPort, '/bad')
    await top.untilShown(/500 +\d+ ms +GET +web \/bad.*\n[^]*200 +\d+ ms +GET +web \/first/)
    top.type('\r')
    await top.untilShown('web running  1 logs')
    top.type('\r')
    await top.untilShown(/GET \/bad: status 500[^]*\| asked for \/bad/)
    top.type(ESCAPE)
    await top.untilShown('SUBDOMAIN, URL')
    top.type('f/BAD')
    await top.untilShown('no requests to web that contain "/BAD"')
    top.type('\u0015get web /b')
    await top.untilShown(/SUBDOMAIN, URL\n[^\n]*web \/bad\n\n/)
    top.type('\r')
    await top.untilShown(/3 requests[^\n]*filter "get web \/b"/)
    top.type(ESCAPE)
    await top.untilShown(/GET +web \/first/)
    top.type(ESCAPE)
    await top.untilShown('NAME*')
    top.type('q')
    expect(await top.ended).toBe(0)
  })

  test('ends although an action is under way, whose response arrives later', async () => {
    const slow = `process.on('SIGTERM', () => setTimeout(() => process.exit(), 1000)); setInterval(() => {}, 1000)`
    const user = await supervisorUser({ web: { cmd: [process.execPath, '-e', slow] } })
    await user.up()
    const top = onTerminal(user, ['top'])
    await top.untilShown(/web +running/)
    top.type('rq')
    expect(await top.ended).toBe(0)
  })

  test('explains that the proxy is not enabled', async () => {
    const user = await supervisorUser({ web: { cmd: WAIT } })
    await user.up()
    const top = onTerminal(user, ['top'])
    await top.untilShown(/web +running/)
    top.type('\t\t')
    await top.untilShown('the proxy is not enabled; set proxy.enabled to true')
    // Ctrl-C is a key like q.
    top.type('\u0003')
    expect(await top.ended).toBe(0)
  })

  test('the help lists every key', async () => {
    const user = await supervisorUser({ web: { cmd: WAIT } })
    await user.up()
    const top = onTerminal(user, ['top'])
    await top.untilShown(/web +running/)
    top.type('?')
    const screen = await top.untilShown('Keys of supervisor top')
    for (const { shown, does } of [...KEYS, ...MOUSE])
      expect(screen.some((row) => row.startsWith(shown) && row.endsWith(does))).toBe(true)
    top.resize(40, 10)
    await top.untilShown(/Keys of supervisor top[^]*Home/)
    top.type(END)
    await top.untilShown('Wheel')
    top.type('?')
    await top.untilShown('web  1 logs')
    top.type('q')
    expect(await top.ended).toBe(0)
  })

  test('shows that the supervisor stopped, and reconnects to the next one', async () => {
    const user = await supervisorUser({ web: { cmd: `echo started with pid $$; ${WAIT}` } })
    const first = await user.up()
    const top = onTerminal(user, ['top'])
    await top.untilShown('started with pid')
    const pidOf = (): string | undefined => /pid (\d+)/.exec(top.screen().join('\n'))?.[1]
    const before = pidOf()
    first.child.kill('SIGTERM')
    await first.ended
    await top.untilShown('reconnecting: no supervisor')
    await user.up()
    await top.untilShown('1 process ')
    await waitFor('the lines of the next process', () => ![undefined, before].includes(pidOf()))
    top.type('q')
    expect(await top.ended).toBe(0)
  })

  test.for(['q', 'SIGTERM', 'SIGHUP'] as const)('restores the terminal after %s', async (how) => {
    const user = await supervisorUser({ web: { cmd: WAIT } })
    await user.up()
    const top = onTerminal(user, ['top'], undefined, {
      setUp: 'echo before',
      finish: 'status=$?; stty -a; exit $status',
    })
    await top.untilShown(/web +running/)
    const { modes, buffer } = top.terminal
    expect([buffer.active.type, modes.bracketedPasteMode, modes.wraparoundMode]).toEqual([
      'alternate',
      true,
      false,
    ])
    if (how === 'q') top.type('q')
    else {
      const child = Number(execFileSync('pgrep', ['-P', String(top.pid)], { encoding: 'utf8' }))
      process.kill(child, how)
    }
    expect(await top.ended).toBe(0)
    const screen = await top.untilShown(/ icanon .* echo /)
    expect(screen[0]).toBe('before')
    const after = top.terminal.modes
    expect(top.terminal.buffer.active.type).toBe('normal')
    expect([after.bracketedPasteMode, after.wraparoundMode, after.mouseTrackingMode]).toEqual([
      false,
      true,
      'none',
    ])
    expect(top.output().lastIndexOf('\u001b[?25h')).toBeGreaterThan(top.output().lastIndexOf('\u001b[?25l'))
  })

  test('H10 hostile lines do not act on the terminal, and wide characters keep columns aligned', async () => {
    const user = await supervisorUser({
      evil: {
        cmd: `printf '\\033]0;taken\\007\\033[2J\\033[HX\\033[?1049lY\\033[31m red \\033c\\n\\342\\200\\256evil\\n'; printf '日本語 😀 한국어\\tafter\\n\\tindented\\n'; ${WAIT}`,
      },
    })
    await user.up()
    const top = onTerminal(user, ['top'], { columns: 170, rows: 30 })
    let title = ''
    top.terminal.onTitleChange((text) => (title = text))
    // Not the command, which the state beside the lines may show before them.
    const screen = await top.untilShown(/\| +indented/)
    expect(top.terminal.buffer.active.type).toBe('alternate')
    expect(title).toBe('')
    expect(screen.join('\n')).toMatch(/\| XY red/)
    expect(screen.join('\n')).toContain('| �evil')
    // A tab continues at the next multiple of eight columns, after characters of two columns.
    const wide = screen.find((row) => row.includes('日本語')) ?? ''
    expect(wide).toMatch(/^\| 日本語 😀 한국어 {8}after/)
    await top.untilShown('│ evil is running')
    const { active } = top.terminal.buffer
    const separators = () =>
      screen
        .map((_, row) =>
          Array.from({ length: 170 }, (_unused, column) => column).filter(
            (column) => active.getLine(row)?.getCell(column)?.getChars() === '│',
          ),
        )
        .filter((found) => found.length > 0)
    // The rest of the frame may follow.
    await expect
      .poll(() => [separators().length > 20, new Set(separators().map(String)).size])
      .toEqual([true, 1])
    top.type('q')
    expect(await top.ended).toBe(0)
  })

  test('honors NO_COLOR, and needs a terminal', async () => {
    const user = await supervisorUser({ web: { cmd: `echo error >&2; ${WAIT}` } })
    await user.up()
    // oxlint-disable-next-line no-control-regex -- it matches control sequences
    const colors = /\u001b\[(?:\d+;)*[39]\d[;m]/
    const colored = onTerminal(user, ['top'])
    await colored.untilShown('! error')
    expect(colored.output()).toMatch(colors)
    const plain = onTerminal(user, ['top'], undefined, { environment: { NO_COLOR: '1' } })
    await plain.untilShown('! error')
    expect(plain.output()).not.toMatch(colors)
    for (const each of [colored, plain]) {
      each.type('q')
      expect(await each.ended).toBe(0)
    }
    expect(await user.supervisor('top')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('top requires a terminal'),
    })
  })
})
