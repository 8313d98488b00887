import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** A button that something pushes aside at every one of them is a defect of the page. */
const CLICK_ATTEMPTS = 20

/** A page in a real browser without a window, spoken to in its own protocol. */
export interface BrowserPage {
  /** The value of an expression in the page. */
  readonly evaluate: <T>(expression: string) => Promise<T>
  /** Keys one after the other; `Control+Shift+V` is one with others held down. */
  readonly press: (...keys: readonly string[]) => Promise<void>
  readonly type: (text: string) => Promise<void>
  /** Clicks the middle of what a selector finds; again if it moved away between the look and the click. */
  readonly click: (selector: string) => Promise<void>
  /** Shows the same page anew. */
  readonly reload: () => Promise<void>
  /** Lets the page use the clipboard without being asked. */
  readonly allowClipboard: () => Promise<void>
  /** Bytes of JavaScript objects that are in use, after all others have been collected. */
  readonly heapBytes: () => Promise<number>
  readonly screenshot: () => Promise<Buffer>
  readonly setDark: (isDark: boolean) => Promise<void>
  /** As on a phone whose screen is so many pixels wide. */
  readonly setWidth: (width: number) => Promise<void>
  /** Resizes the window to this many CSS pixels. */
  readonly resize: (width: number, height: number) => Promise<void>
  readonly resetWidth: () => Promise<void>
  /** The addresses of all tabs, those included that the page has opened. */
  readonly tabs: () => Promise<readonly string[]>
  /** Everything the page has complained about: errors, refused resources. */
  readonly complaints: readonly string[]
}

type Answer = Record<string, any>

/** A page in a browser of its own, and what ends that. */
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
    // What it leaves behind when it is ended goes with its profile.
    env: { ...process.env, TMPDIR: profile },
    detached: true,
  })
  const close = async (): Promise<void> => {
    const gone = once(child, 'close')
    process.kill(-(child.pid ?? 0), 'SIGKILL')
    await gone
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
    // Beside these a browser gives advice.
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
        // What a browser does by itself on such keys a browser without a window has to be told.
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
        // A page that the click replaced knows nothing of it, or cannot be asked at the moment.
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

/** As the protocol counts them. */
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
