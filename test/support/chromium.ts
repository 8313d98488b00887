import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { tempDir } from './temp-dir.ts'

/** A page in a real browser without a window, spoken to in its own protocol. */
export interface BrowserPage {
  /** The value of an expression in the page. */
  readonly evaluate: <T>(expression: string) => Promise<T>
  readonly press: (...keys: readonly string[]) => Promise<void>
  readonly type: (text: string) => Promise<void>
  /** Clicks the middle of what a selector finds. */
  readonly click: (selector: string) => Promise<void>
  readonly screenshot: () => Promise<Buffer>
  readonly setDark: (isDark: boolean) => Promise<void>
  /** As on a phone whose screen is so many pixels wide. */
  readonly setWidth: (width: number) => Promise<void>
  /** Everything the page has complained about: errors, refused resources. */
  readonly complaints: readonly string[]
}

type Answer = Record<string, any>

export async function openPage(url: string): Promise<BrowserPage> {
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--remote-debugging-port=0',
    '--window-size=1400,900',
  ]
  const child = spawn('chromium', [...flags, `--user-data-dir=${tempDir()}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  onTestFinished(async () => {
    const gone = once(child, 'close')
    process.kill(-(child.pid ?? 0), 'SIGKILL')
    await gone
  })
  const port = await portOf(child)
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
    if (message['method'] === 'Runtime.exceptionThrown' || message['method'] === 'Log.entryAdded')
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
  await send('Page.navigate', { url })
  await loaded
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, returnByValue: true })
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return result.value as T
  }
  return {
    evaluate,
    complaints,
    async press(...keys) {
      for (const key of keys) {
        const text = key === 'Enter' ? '\r' : key.length === 1 ? key : undefined
        const windowsVirtualKeyCode = CODES[key] ?? key.toUpperCase().charCodeAt(0)
        const event = { key, windowsVirtualKeyCode, ...(text !== undefined && { text }) }
        await send('Input.dispatchKeyEvent', { type: 'keyDown', ...event })
        await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event })
      }
    },
    type: async (text) => void (await send('Input.insertText', { text })),
    async click(selector) {
      const { x, y } = await evaluate<{ x: number; y: number }>(
        `(() => { const r = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 } })()`,
      )
      const event = { x, y, button: 'left', clickCount: 1 }
      await send('Input.dispatchMouseEvent', { type: 'mousePressed', ...event })
      await send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...event })
    },
    screenshot: async () => Buffer.from((await send('Page.captureScreenshot'))['data'] as string, 'base64'),
    setWidth: async (width) => {
      const metrics = { width, height: 2 * width, deviceScaleFactor: 2, mobile: true }
      await send('Emulation.setDeviceMetricsOverride', metrics)
    },
    setDark: async (isDark) => {
      const features = [{ name: 'prefers-color-scheme', value: isDark ? 'dark' : 'light' }]
      await send('Emulation.setEmulatedMedia', { features })
    },
  }
}

const CODES: Readonly<Record<string, number>> = {
  Enter: 13,
  Escape: 27,
  Tab: 9,
  ArrowDown: 40,
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
