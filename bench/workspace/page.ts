import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '../../src/lib/log/logger.ts'
import { loadWorkspaceConfig } from '../../src/workspace/config.ts'
import { create } from '../../src/workspace/index.ts'
import { type BrowserPage, openBrowser } from '../../test/support/browser/browser.ts'
import { CrowdedBackend, workspaceLike } from '../../test/support/workspace/backend/crowded-backend.ts'
import { waitFor } from '../../test/support/wait-for.ts'
import type { Bench } from '../harness.ts'

const WORKSPACES = 500
/** One change per second. */
const EVENTS_AN_HOUR = 3_600
const ROWS = `document.querySelectorAll('.rows .row').length`

const bench: Bench = {
  note: `The page with ${WORKSPACES} workspaces, in Debian's headless Chromium without a graphics card, on the server's machine: time to the first paint and to the complete list, smoothness of scrolling, and JavaScript heap before and after an hour's events (${EVENTS_AN_HOUR} state changes).`,

  async prepare() {
    const stateDir = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const backend = new CrowdedBackend(
      Array.from({ length: WORKSPACES }, (_, index) => workspaceLike(`w-${index}`)),
    )
    const { config } = loadWorkspaceConfig(
      {},
      { flags: { state_dir: stateDir, http: { port: 0 }, ssh: { port: 0 } } },
    )
    const logger = createLogger({ level: 'error', format: 'json' })
    const server = await create(config, { logger, backends: [backend] }).start()
    return {
      cases: [],
      more: () => measurePage(`http://127.0.0.1:${server.httpPort}/`, backend),
      async cleanUp() {
        await server.stop()
        rmSync(stateDir, { recursive: true, force: true })
      },
    }
  },
}
export default bench

async function measurePage(url: string, backend: CrowdedBackend): Promise<string> {
  const { page, close } = await openBrowser(url)
  try {
    await waitFor('all rows', () => page.evaluate<boolean>(`${ROWS} === ${WORKSPACES}`))
    // The first load also includes the start of the browser.
    await page.reload()
    await waitFor('all rows', () => page.evaluate<boolean>(`${ROWS} === ${WORKSPACES}`))
    const allMs = await page.evaluate<number>('performance.now()')
    const paintMs = await page.evaluate<number>(
      `performance.getEntriesByName('first-contentful-paint')[0].startTime`,
    )
    const frames = await scroll(page)
    const before = await page.heapBytes()
    await replayHour(page, backend)
    const after = await page.heapBytes()
    const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`
    return [
      '| what | figure |',
      '| --- | ---: |',
      `| first contentful paint | ${paintMs.toFixed(0)} ms |`,
      `| all ${WORKSPACES} rows shown, at most | ${allMs.toFixed(0)} ms |`,
      `| frame while scrolling, median | ${frames.medianMs.toFixed(1)} ms |`,
      `| frame while scrolling, 95th percentile | ${frames.slowMs.toFixed(1)} ms |`,
      `| heap before | ${mebibytes(before)} |`,
      `| heap after an hour's events | ${mebibytes(after)} |`,
    ].join('\n')
  } finally {
    await close()
  }
}

/** Scrolls from the top to the end in 120 frames. */
async function scroll(page: BrowserPage): Promise<{ readonly medianMs: number; readonly slowMs: number }> {
  const times = await page.evaluate<readonly number[]>(
    `new Promise((resolve) => {
      const times = []
      const height = document.documentElement.scrollHeight
      let last
      const step = (now) => {
        if (last !== undefined) times.push(now - last)
        last = now
        if (times.length === 120) return resolve(times)
        scrollTo(0, (height * times.length) / 120)
        requestAnimationFrame(step)
      }
      requestAnimationFrame(step)
    })`,
  )
  const sorted = times.toSorted((a, b) => a - b)
  return { medianMs: sorted[60] ?? 0, slowMs: sorted[114] ?? 0 }
}

async function replayHour(page: BrowserPage, backend: CrowdedBackend): Promise<void> {
  for (let done = 0; done < EVENTS_AN_HOUR; done++) {
    const isRunning = Math.floor(done / WORKSPACES) % 2 === 1
    backend.change(`w-${done % WORKSPACES}`, { is: isRunning ? 'running' : 'stopped' })
    // Lets the page draw in between, as it would in reality.
    if (done % 20 === 19)
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => resolve()))')
  }
  const stopped = EVENTS_AN_HOUR % WORKSPACES
  await waitFor('the last of the events', () =>
    page.evaluate<boolean>(`document.querySelectorAll('.rows span.status.running').length === ${stopped}`),
  )
}
