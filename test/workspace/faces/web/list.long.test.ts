import { expect, onTestFinished, test } from 'vitest'
import type { Workspace } from '../../../../src/workspace/workspace.ts'
import { expectAccessible } from '../../../support/browser/accessible.ts'
import { CrowdedBackend, workspaceLike } from '../../../support/workspace/backend/crowded-backend.ts'
import { openWorkspacePage, type WorkspacePage } from '../../../support/workspace/client/workspace-page.ts'
import { startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

const EVIL = '</script><img src=x onerror="document.title=\'taken\'"><b>bold</b>'

async function openList(
  crowd: readonly Workspace[],
): Promise<{ page: WorkspacePage; backend: CrowdedBackend }> {
  const backend = new CrowdedBackend(crowd)
  backend.printed = `${EVIL}\n\u001b[31mred\u001b[0m\n`
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  const page = await openWorkspacePage(server.url)
  await page.untilText('.connection', 'live')
  return { page, backend }
}

/** The displayed names, in order. */
const NAMES = `[...document.querySelectorAll('.rows .name')].map((cell) => cell.textContent)`

test('a list of five hundred can be filtered, sorted and navigated by keyboard', async () => {
  const states = [{ is: 'running' }, { is: 'stopped' }, { is: 'error', message: 'no space left' }] as const
  const crowd = Array.from({ length: 500 }, (_, i) =>
    workspaceLike(`w-${i}`, { state: states[i % 3] ?? states[0] }),
  )
  const { page } = await openList(crowd)
  await page.until('all', `${NAMES}.length === 500`)
  expect(await page.evaluate(`${NAMES}.slice(8, 12)`)).toEqual(['w-8', 'w-9', 'w-10', 'w-11'])

  await page.press('/')
  await page.type('w-49')
  await page.until(
    'the matching rows',
    `${NAMES}.join() === 'w-49,w-490,w-491,w-492,w-493,w-494,w-495,w-496,w-497,w-498,w-499'`,
  )
  await page.untilText('.page-head [role=status]', '11 of 500')
  await page.evaluate(
    `(() => { const select = document.querySelector('.page-head select'); select.value = 'error'; select.dispatchEvent(new Event('change', { bubbles: true })) })()`,
  )
  await page.until('those in error', `${NAMES}.join() === 'w-491,w-494,w-497'`)
  await page.choose('[role=columnheader].name button')
  await page.until('the other way round', `${NAMES}.join() === 'w-497,w-494,w-491'`)
  await page.until(
    'the order in aria-sort',
    `document.querySelector('[role=columnheader].name').getAttribute('aria-sort') === 'descending'`,
  )
  await page.evaluate('document.activeElement.blur()')
  await page.press('ArrowDown', 'ArrowDown')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('w-494')
  await page.press('Enter')
  await page.untilText('h1', 'w-494')
  await page.untilText('.reason', 'no space left')
  // The list keeps its filter and order.
  await page.evaluate('history.back()')
  await page.until('the same three', `${NAMES}.join() === 'w-497,w-494,w-491'`)

  await page.fill('input[type=search]', 'w-4')
  await page.choose('[role=columnheader].memory button')
  await page.setWidth(390)
  expect(
    await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
  ).toBe(true)
  await page.resetWidth()
  expect(page.complaints).toEqual([])
})

test('markup in foreign data is shown as text', async () => {
  const evil = workspaceLike(EVIL, {
    repo: `javascript:alert(1)//${EVIL}`,
    image: EVIL,
    localDir: `/${EVIL}`,
    state: { is: 'error', message: EVIL },
  })
  const { page } = await openList([evil, workspaceLike('plain', { repo: `https://example.com/${EVIL}` })])
  const isText = async (selector: string): Promise<void> => {
    await page.untilText(selector, 'onerror=')
    expect(await page.evaluate('document.images.length + document.querySelectorAll("b").length')).toBe(0)
    expect(await page.evaluate('document.title')).not.toBe('taken')
    expect(await page.evaluate(`document.querySelectorAll('a[href^="javascript"]').length`)).toBe(0)
  }
  await isText('.rows .name')
  await page.choose('[data-workspace=plain] .name a')
  await isText('[data-card=facts]')
  await isText('[data-card=logs] pre')
  await page.untilText('[data-card=logs] pre', 'red')
  expect(await page.evaluate(`document.querySelector('[data-card=logs] pre').textContent`)).not.toContain(
    '[31m',
  )
  await page.goTo(`#/workspaces/${encodeURIComponent(EVIL)}`)
  await isText('.reason')
  await page.choose(`button[aria-label^="Delete"]`)
  await isText('.losses')
  await page.press('Escape')
  await page.goTo('#/disk')
  await isText('[data-card=map]')
})

test('axe-core finds nothing on any page, in light and dark mode', async () => {
  const states = [
    { is: 'running' },
    { is: 'stopped' },
    { is: 'error', message: 'no space left' },
    { is: 'starting' },
  ] as const
  const { page } = await openList(states.map((state, i) => workspaceLike(`w-${i}`, { state })))
  for (const [hash, ready] of [
    ['#/', '.rows .row'],
    ['#/create', '.field'],
    ['#/workspaces/w-0', '[data-card=logs] pre'],
    ['#/workspaces/w-2', '[data-card=logs] pre'],
    ['#/disk', '.tiles'],
    ['#/bus', '[data-card=tail]'],
    ['#/workspaces/w-1/terminal', '.terminal-page .button'],
  ] as const) {
    await page.goTo(hash)
    await page.until(hash, `document.querySelector('${ready}') !== null`)
    await expectAccessible(page, hash)
  }
})
