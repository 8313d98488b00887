import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dockerBackend, leftovers, TEST_IMAGE, uniqueName } from '../../../support/engine/docker.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { openWorkspacePage, type WorkspacePage } from '../../../support/workspace/client/workspace-page.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

const TOKEN = 'a-token-of-the-page-test'
const HEADERS = { authorization: `Bearer ${TOKEN}` }

/** The content of the terminal's screen. */
const SCREEN = `[...document.querySelectorAll('.xterm-rows > div')].map((row) => row.textContent).join('\\n')`

async function start() {
  const tokenFile = join(tempDir(), 'token')
  writeFileSync(tokenFile, TOKEN)
  const backend = dockerBackend()
  const server = await startWorkspaceServer({
    backends: () => [backend],
    settings: {
      http: { token_file: tokenFile },
      default_image: TEST_IMAGE,
      templates: { web: { description: 'for the web team', cpus: 1, labels: { team: 'web' } } },
    },
  })
  onTestFinished(() => server.stop())
  return server
}

async function logIn(page: WorkspacePage): Promise<void> {
  await page.fill('input[name=token]', TOKEN)
  await page.press('Enter')
  await page.untilText('.connection', 'live')
}

test('the page creates, uses and deletes a workspace with a token', async () => {
  const server = await start()
  const name = uniqueName('page')
  onTestFinished(async () => {
    if ((await leftovers(name)).length > 0)
      await server.api(`workspaces/${name}`, 'DELETE', undefined, HEADERS)
  })
  const page = await openWorkspacePage(server.url)

  await page.fill('input[name=token]', 'another token')
  await page.press('Enter')
  await page.untilText('.token [role=alert]', 'not valid')
  await page.keep('token')
  await logIn(page)
  await page.untilText('.empty', 'No workspaces')

  // An error is shown at its field.
  await page.press('n')
  await page.fill('input[name=name]', name)
  await page.fill('input[name=repo]', 'ftp://example.com/repo')
  await page.choose('.create button[type=submit]')
  await page.until(
    'the error at its field',
    `document.querySelector('input[name=repo]').getAttribute('aria-invalid') === 'true' && document.activeElement.name === 'repo'`,
  )
  await page.keep('create')
  await page.fill('input[name=repo]', '')
  await page.press('Backspace')
  await page.evaluate(
    `(() => { const field = document.querySelector('input[name=repo]'); field.value = ''; field.dispatchEvent(new Event('input', { bubbles: true })) })()`,
  )
  await page.evaluate(
    `(() => { const field = document.querySelector('select[name=template]'); field.value = 'web'; field.dispatchEvent(new Event('change', { bubbles: true })) })()`,
  )
  await page.untilText('.create', 'for the web team')
  expect(await page.evaluate(`document.querySelector('input[name=labels]').placeholder`)).toBe('team=web')
  await page.keep('template')
  await page.choose('.create button[type=submit]')
  await page.untilText('h1', name)
  await page.untilText('[data-card=facts]', 'team=web')
  await page.untilText('[data-card=facts]', TEST_IMAGE)
  await page.untilText('[data-card=facts] code', `ssh -p ${server.sshPort} ${name}@127.0.0.1`)

  const editor = `vscode://vscode-remote/ssh-remote+${name}@127.0.0.1:${server.sshPort}/workspace`
  expect(await page.evaluate(`document.querySelector('.editors a').href`)).toBe(editor)

  await usesTerminal(page, name)

  // Stop and start.
  await page.goTo('#/')
  await page.untilText(`[data-workspace=${name}] span.status`, 'running')
  await page.keep('list')
  await page.choose(`[data-workspace=${name}] button[aria-label="Stop ${name}"]`)
  await page.untilText(`[data-workspace=${name}] span.status`, 'stopped')

  // The page of a workspace shows why it is stopped and what happened.
  await page.goTo(`#/workspaces/${name}`)
  await page.untilText('.reason', 'stopped: a client requested the stop')
  await page.untilText('.reason', `start it with "workspace start ${name}"`)
  await page.untilText('.timeline li:first-child', 'stopped: a client requested the stop')
  await page.untilText('.timeline', 'phase boot took')
  await page.keep('stopped')
  await page.choose('.page-head button')
  await page.untilText('.timeline li:first-child', 'running: it is ready')
  await page.untilGone('.reason')
  await page.goTo('#/')
  await page.choose(`[data-workspace=${name}] button[aria-label="Stop ${name}"]`)
  await page.untilText(`[data-workspace=${name}] span.status`, 'stopped')
  await page.choose(`[data-workspace=${name}] button[aria-label="Start ${name}"]`)
  await page.untilText(`[data-workspace=${name}] span.status`, 'running')

  // Deleting asks for confirmation and lists what is lost.
  await page.choose(`[data-workspace=${name}] button[aria-label="Delete ${name}"]`)
  await page.untilText('.losses', 'Its files are lost')
  await page.keep('delete')
  await page.choose('input[name=keep_volume]')
  await page.untilText('.losses', 'Its files stay')
  await page.choose('dialog .danger')
  await page.untilGone(`[data-workspace=${name}]`)
  expect(await leftovers(name)).toEqual([`volume ws-${name}`])
  await server.create({ name }, HEADERS)
  await page.choose(`[data-workspace=${name}] button[aria-label="Delete ${name}"]`)
  await page.choose('dialog .danger')
  await page.untilGone(`[data-workspace=${name}]`)
  expect(await leftovers(name)).toEqual([])
  expect(page.complaints.filter((each) => !/"(?:400|401)|status of 40[01]/.test(each))).toEqual([])
})

/** A session that survives its connection; its size, copy and paste, large output, exit; then a shell. */
async function usesTerminal(page: WorkspacePage, name: string): Promise<void> {
  await page.allowClipboard()
  await page.fill('input[name=session]', 'work')
  await page.press('Enter')
  await page.untilText('.terminal-page .status', 'connected')
  await page.until('the prompt', `/[$#]/.test(${SCREEN})`)
  await page.type('echo "one-$((40+2))"')
  await page.press('Enter')
  await page.until('what was typed and answered', `${SCREEN}.includes('one-42')`)
  await page.keep('terminal')

  await page.evaluate(`navigator.clipboard.writeText('echo pasted-$((3+4))')`)
  await page.press('Control+Shift+V')
  await page.until('what was pasted', `${SCREEN}.includes('echo pasted-')`)
  await page.press('Enter')
  await page.until('its answer', `${SCREEN}.includes('pasted-7')`)

  // Navigating away detaches the session, and returning reattaches it.
  await page.goTo(`#/workspaces/${name}`)
  await page.untilText('[data-session=work]', '1 window')
  await page.untilText('[data-card=logs]', 'log')
  await page.keep('workspace')
  await page.choose('[data-session=work] a.button')
  await page.until('the same session', `${SCREEN}.includes('pasted-7')`)

  await page.goTo(`#/workspaces/${name}`)
  await page.choose('button[aria-label="Kill session work"]')
  await page.choose('dialog .danger')
  await page.untilGone('[data-session=work]')

  await page.choose('.page-head a.main')
  await page.until('the prompt of a shell', `/[$#]/.test(${SCREEN})`)
  await page.type('printf "\\033[38;2;200;30;30mred\\033[0m\\n"')
  await page.press('Enter')
  await page.until(
    'a 24-bit color',
    `[...document.querySelectorAll('.xterm-rows span')].some(({ style }) => style.color === 'rgb(200, 30, 30)')`,
  )
  // 30 MB of output while the page stays responsive: frames are requested throughout.
  await page.type('head -c 30000000 /dev/zero | tr "\\0" "x" | fold -w 79; echo all-$((1+1))')
  await page.evaluate(`(() => {
    window.longest = 0
    let last = performance.now()
    const tick = (now) => { window.longest = Math.max(window.longest, now - last); last = now; requestAnimationFrame(tick) }
    requestAnimationFrame((now) => { last = now; tick(now) })
    window.begun = performance.now()
  })()`)
  await page.press('Enter')
  await waitFor('all of the output', () => page.evaluate<boolean>(`${SCREEN}.includes('all-2')`))
  const { seconds, longest } = await page.evaluate<{ seconds: number; longest: number }>(
    `({ seconds: (performance.now() - window.begun) / 1000, longest: window.longest })`,
  )
  console.log(`30 MB of output in ${seconds.toFixed(1)} s, the longest frame ${longest.toFixed(0)} ms`)
  // A page that does not respond has one frame for all of it.
  expect(longest).toBeLessThan(Math.max(1_000, seconds * 250))
  await page.type(`tmux new-session -d -s '<img src=x onerror=alert(1)>'; echo made-$((1+1))`)
  await page.press('Enter')
  await page.until('the session', `${SCREEN}.includes('made-2')`)
  await page.type('exit 3')
  await page.press('Enter')
  await page.untilText('.terminal-page .status', 'status 3')
  await page.choose('.terminal-page .button.main')
  await page.untilText('.terminal-page .status', 'connected')
  await page.goTo(`#/workspaces/${name}`)
  // A session's name is shown as text.
  await page.untilText('[data-card=sessions] li', '<img src=x onerror=')
  expect(await page.evaluate('document.images.length')).toBe(0)
}

test('a page shows that its server is unreachable, and recovers with its terminal when it is back', async () => {
  const [serverId, stateDir, name] = [randomUUID(), tempDir(), uniqueName('back')]
  const startAt = (port: number) =>
    startWorkspaceServer({
      backends: () => [dockerBackend({ serverId })],
      stateDir,
      settings: { http: { port }, default_image: TEST_IMAGE },
    })
  const server = await startAt(0)
  await makeWorkspace(server.url, { name })
  const page = await openWorkspacePage(`${server.url}/#/workspaces/${name}/terminal?session=work`)
  await page.until('the prompt', `/[$#]/.test(${SCREEN})`)
  await page.type('echo remembered-$((1+1))')
  await page.press('Enter')
  await page.until('the output', `${SCREEN}.includes('remembered-2')`)
  await server.stop()
  await page.untilText('.connection', 'lost')
  await page.untilText('.terminal-page .status', 'lost')
  const again = await startAt(server.httpPort)
  onTestFinished(async () => {
    await again.api(`workspaces/${name}`, 'DELETE')
    await again.stop()
  })
  await page.untilText('.connection', 'live')
  await page.untilText('.terminal-page .status', 'connected')
  await page.type('echo and-$((1+2))')
  await page.press('Enter')
  await expect.poll(() => page.evaluate<string>(SCREEN)).toMatch(/remembered-2[^]*and-3/)
})
