import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** Attempts to click an element that moves; if all fail, the page is defective. */
const CLICK_ATTEMPTS = 20

/** A page in a headless browser, controlled over the DevTools protocol. */
export interface BrowserPage {
  /** Evaluates an expression in the page. */
  readonly evaluate: <T>(expression: string) => Promise<T>
  /** Presses keys in order; `Control+Shift+V` is a key with modifiers. */
  readonly press: (...keys: readonly string[]) => Promise<void>
  readonly type: (text: string) => Promise<void>
  /** Clicks the center of the element; tries again if it moved before the click. */
  readonly click: (selector: string) => Promise<void>
  /** Reloads the page. */
  readonly reload: () => Promise<void>
  /** Holds back requests of this URL pattern until the returned function is called. */
  readonly hold: (urlPattern: string) => Promise<() => Promise<void>>
  /** Grants the page access to the clipboard. */
  readonly allowClipboard: () => Promise<void>
  /** Returns the size of live JavaScript objects in bytes, after a garbage collection. */
  readonly heapBytes: () => Promise<number>
  readonly screenshot: () => Promise<Buffer>
  readonly setDark: (isDark: boolean) => Promise<void>
  /** Emulates a phone with this screen width in pixels. */
  readonly setWidth: (width: number) => Promise<void>
  /** Resizes the window to this many CSS pixels. */
  readonly resize: (width: number, height: number) => Promise<void>
  readonly resetWidth: () => Promise<void>
  /** Returns the URLs of all tabs, including those the page has opened. */
  readonly tabs: () => Promise<readonly string[]>
  /** Errors and refused resources logged by the page. */
  readonly complaints: readonly string[]
}

type Answer = Record<string, any>

/** Opens a page in a separate browser; returns it and a function that closes the browser. */
export async function openBrowser(
  url: string,
): Promise<{ readonly page: BrowserPage; readonly close: () => Promise<void> }> {
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'))
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--remote-debugging-port=0',
    '--window-size=1400,900',
  ]
  const child = spawn('chromium', [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Leftovers of a killed browser are deleted with its profile.
    env: { ...process.env, TMPDIR: profile },
    detached: true,
  })
  const close = async (): Promise<void> => {
    const closed = once(child, 'close')
    process.kill(-(child.pid ?? 0), 'SIGKILL')
    await closed
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    return { page: await connectPage(await portOf(child), url), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function connectPage(port: string, url: string): Promise<BrowserPage> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as Answer[]
  const page = targets.find(({ type }) => type === 'page')
  const socket = new WebSocket(page?.['webSocketDebuggerUrl'] as string)
  await once(socket, 'open')
  const complaints: string[] = []
  const waiting = new Map<number, (answer: Answer) => void>()
  const heard = new Map<string, () => void>()
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data as string) as Answer
    if (message['id'] !== undefined) waiting.get(message['id'] as number)?.(message)
    heard.get(message['method'] as string)?.()
    // Other levels are only advice.
    const isEntry = message['method'] === 'Log.entryAdded' && message['params'].entry.level !== 'verbose'
    if (isEntry || message['method'] === 'Runtime.exceptionThrown')
      complaints.push(JSON.stringify(message['params']))
  })
  let last = 0
  const send = async (method: string, params: Answer = {}): Promise<Answer> => {
    const id = ++last
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params }))
    const { error, result } = await answered
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result as Answer
  }
  for (const domain of ['Page', 'Runtime', 'Log']) await send(`${domain}.enable`)
  const loaded = new Promise<void>((resolve) => heard.set('Page.loadEventFired', resolve))
  const navigated = await send('Page.navigate', { url })
  if (navigated['errorText'] !== undefined) throw new Error(`${url}: ${navigated['errorText'] as string}`)
  await loaded
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    })
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return result.value as T
  }
  return {
    evaluate,
    complaints,
    async hold(urlPattern) {
      await send('Fetch.enable', { patterns: [{ urlPattern }] })
      return async () => void (await send('Fetch.disable'))
    },
    async tabs() {
      const all = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as Answer[]
      return all.filter(({ type }) => type === 'page').map(({ url: address }) => address as string)
    },
    async press(...keys) {
      for (const combination of keys) {
        const held = combination.split('+').slice(0, -1)
        const key = combination.split('+').at(-1) ?? ''
        const modifiers = held.reduce((sum, each) => sum + (MODIFIERS[each] ?? 0), 0)
        const text = key === 'Enter' ? '\r' : key.length === 1 && modifiers === 0 ? key : undefined
        const windowsVirtualKeyCode = CODES[key] ?? key.toUpperCase().charCodeAt(0)
        const code = /^[A-Z]$/i.test(key) ? `Key${key.toUpperCase()}` : key
        const event = { key, code, modifiers, windowsVirtualKeyCode, ...(text !== undefined && { text }) }
        // A headless browser needs an explicit command for keys that a regular browser handles natively.
        const commands = modifiers === MODIFIERS['Control+Shift'] && code === 'KeyV' ? ['paste'] : []
        await send('Input.dispatchKeyEvent', { type: 'keyDown', ...event, commands })
        await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event })
      }
    },
    type: async (text) => void (await send('Input.insertText', { text })),
    async click(selector) {
      const text = JSON.stringify(selector)
      for (let attempt = 0; attempt < CLICK_ATTEMPTS; attempt++) {
        const { x, y } = await evaluate<{ x: number; y: number }>(
          `(() => {
            const found = document.querySelector(${text})
            if (found === null) throw new Error('nothing matches ' + ${text})
            window.wasClicked = false
            found.addEventListener('click', () => (window.wasClicked = true), { once: true, capture: true })
            found.scrollIntoView({ block: 'nearest' })
            const r = found.getBoundingClientRect()
            return { x: r.x + r.width / 2, y: r.y + r.height / 2 }
          })()`,
        )
        const event = { x, y, button: 'left', clickCount: 1 }
        await send('Input.dispatchMouseEvent', { type: 'mousePressed', ...event })
        await send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...event })
        // If the click navigated away, the new page does not know the element or is not ready.
        if ((await evaluate('window.wasClicked').catch(() => true)) !== false) return
      }
      throw new Error(`${selector} moved or was covered at each of ${CLICK_ATTEMPTS} clicks`)
    },
    async reload() {
      const again = new Promise<void>((resolve) => heard.set('Page.loadEventFired', resolve))
      await send('Page.reload')
      await again
    },
    async allowClipboard() {
      const permissions = ['clipboardReadWrite', 'clipboardSanitizedWrite']
      await send('Browser.grantPermissions', { permissions })
    },
    async heapBytes() {
      await send('HeapProfiler.collectGarbage')
      return (await send('Runtime.getHeapUsage'))['usedSize'] as number
    },
    screenshot: async () => Buffer.from((await send('Page.captureScreenshot'))['data'] as string, 'base64'),
    setWidth: async (width) => {
      const metrics = { width, height: 2 * width, deviceScaleFactor: 2, mobile: true }
      await send('Emulation.setDeviceMetricsOverride', metrics)
    },
    resize: async (width, height) => {
      const metrics = { width, height, deviceScaleFactor: 1, mobile: false }
      await send('Emulation.setDeviceMetricsOverride', metrics)
    },
    resetWidth: async () => void (await send('Emulation.clearDeviceMetricsOverride')),
    setDark: async (isDark) => {
      const features = [{ name: 'prefers-color-scheme', value: isDark ? 'dark' : 'light' }]
      await send('Emulation.setEmulatedMedia', { features })
    },
  }
}

/** Modifier bits of the protocol. */
const MODIFIERS: Readonly<Record<string, number>> = { Control: 2, Shift: 8, 'Control+Shift': 10 }

const CODES: Readonly<Record<string, number>> = {
  Enter: 13,
  Escape: 27,
  Tab: 9,
  ArrowDown: 40,
  ArrowUp: 38,
  ArrowRight: 39,
}

async function portOf(child: ChildProcess): Promise<string> {
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  for (let tries = 0; tries < 300; tries++) {
    const [, port] = /DevTools listening on ws:\/\/[^:]+:(\d+)/.exec(said) ?? []
    if (port !== undefined) return port
    await delay(100)
  }
  throw new Error(`chromium does not start: ${said}`)
}
