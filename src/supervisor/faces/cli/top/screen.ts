import { type AlternateScreen, enterAlternateScreen } from '../../../../lib/cli/alternate-screen.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import type { WireLogEntry, WireLogs } from '../../../api/log.ts'
import type { WireSummary } from '../../../api/process.ts'
import type { SupervisorClient } from '../client.ts'
import { drawView, type View } from './view.ts'

const LOOK_EVERY_MS = 1_000
const DRAW_EVERY_MS = 50
const KEPT_LINES = 1_000

type Usage = readonly { readonly name: string; readonly cpu_percent: number; readonly memory_bytes: number }[]

/** Shows the supervisor on the whole terminal until `q`. */
export async function runScreen(client: SupervisorClient): Promise<void> {
  const { stdout } = process
  let screen: AlternateScreen | undefined
  let view: View = {
    processes: [],
    usage: new Map(),
    selected: 0,
    lines: [],
    filter: '',
    isTyping: false,
    message: '',
  }
  let follow = new AbortController()
  let followed = ''
  let drawing: NodeJS.Timeout | undefined
  const end = Promise.withResolvers<void>()
  const change = (part: Partial<View>): void => {
    view = { ...view, ...part }
    drawing ??= setTimeout(() => {
      drawing = undefined
      screen?.draw(drawView(view, stdout.columns, stdout.rows))
    }, DRAW_EVERY_MS)
  }
  const name = (): string => view.processes[view.selected]?.name ?? ''
  const followSelected = (): void => {
    if (name() === followed) return
    followed = name()
    follow.abort()
    follow = new AbortController()
    const { signal } = follow
    change({ lines: [] })
    const query = `process=${encodeURIComponent(followed)}`
    const add = (lines: readonly WireLogEntry[]): void => {
      if (!signal.aborted) change({ lines: [...view.lines, ...lines].slice(-KEPT_LINES) })
    }
    const run = async (): Promise<void> => {
      const { logs, last_id: afterId } = await client.get<WireLogs>(`/logs?lines=200&${query}`)
      add(logs)
      await client.follow(
        `/logs/stream?${query}`,
        ({ event, data }) => event === 'message' && add([data as WireLogEntry]),
        { signal, afterId },
      )
    }
    run().catch((error: unknown) => change({ message: messageOf(error) }))
  }
  const look = async (): Promise<void> => {
    const [{ processes }, { usage }] = await Promise.all([
      client.get<{ processes: readonly WireSummary[] }>('/processes'),
      client.get<{ usage: Usage }>('/usage'),
    ])
    const selected = Math.min(view.selected, Math.max(0, processes.length - 1))
    change({ processes, usage: new Map(usage.map((each) => [each.name, each])), selected })
    followSelected()
  }
  const act = async (action: string): Promise<void> => {
    change({ message: `${action} ${name()} …` })
    await client.post(`/processes/${encodeURIComponent(name())}/${action}`)
    change({ message: '' })
    await look()
  }
  const notify = (error: unknown): void => change({ message: messageOf(error) })
  const onKey = (key: string): void => {
    if (view.isTyping) return change(typed(view, key))
    if (key === 'q' || key === '\u0003') return end.resolve()
    const step = key === '\u001b[A' || key === 'k' ? -1 : key === '\u001b[B' || key === 'j' ? 1 : 0
    if (step !== 0) {
      change({
        selected: Math.max(0, Math.min(view.processes.length - 1, view.selected + step)),
        message: '',
      })
      followSelected()
    } else if (key === '/') change({ isTyping: true, filter: '' })
    else if (key === 's') act('start').catch(notify)
    else if (key === 'x') act('stop').catch(notify)
    else if (key === 'r') act('restart').catch(notify)
  }
  await look()
  screen = enterAlternateScreen(onKey)
  const onEnd = (): void => end.resolve()
  process.once('SIGTERM', onEnd)
  stdout.on('resize', () => change({}))
  const timer = setInterval(() => void look().catch(notify), LOOK_EVERY_MS)
  try {
    await end.promise
  } finally {
    clearInterval(timer)
    clearTimeout(drawing)
    follow.abort()
    screen.leave()
  }
}

function typed(view: View, key: string): Partial<View> {
  if (key === '\r') return { isTyping: false }
  if (key === '\u001b') return { isTyping: false, filter: '' }
  if (key === '\u007f') return { filter: view.filter.slice(0, -1) }
  return /^[ -~]+$/.test(key) ? { filter: view.filter + key } : {}
}
