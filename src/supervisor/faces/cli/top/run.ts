import { setTimeout as delay } from 'node:timers/promises'
import { enterAlternateScreen } from '../../../../lib/cli/alternate-screen.ts'
import type { Input } from '../../../../lib/cli/terminal-input.ts'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import type { WireLogEntry } from '../../../api/log.ts'
import type { WireSummary } from '../../../api/process.ts'
import type { WireRequest } from '../../../api/request.ts'
import type { SupervisorClient } from '../client.ts'
import { isColoured } from '../paint.ts'
import { untilStopSignal } from '../signals.ts'
import { Feed, followLines, followRequests, followWhy, type Source } from './feeds.ts'
import { MAX_LINES } from './state/lines.ts'
import { type Event, reduce } from './reduce.ts'
import { render } from './view/render.ts'
import { paintRow } from './text/rows.ts'
import { type Effect, initialState, layoutOf, type Usage } from './state/state.ts'

const POLL_EVERY_MS = 1_000
const POLL_LIMIT_MS = 10_000
const DRAW_EVERY_MS = 40

/** Shows the supervisor on the whole terminal until `q`. @param connect finds the supervisor, again after it was lost */
export async function runTop(connect: () => Promise<SupervisorClient>): Promise<void> {
  const { stdin, stdout } = process
  const hasColor = isColoured()
  // Some terminals do not know their size.
  const size = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 })
  let client = await connect()
  let state = initialState(size().columns, size().rows, client.url)
  /** Process id of the supervisor; another one has other lines and requests. */
  let supervisorPid = 0
  let polled = Promise.withResolvers<void>()
  let printed: WireLogEntry[] = []
  /** Latest response, until it is drawn: keys act on the table that the user sees. */
  let polledNow: Event | undefined
  let drawing: NodeJS.Timeout | undefined
  let drawnMs = 0
  const end = Promise.withResolvers<void>()
  const quitting = new AbortController()
  const lines = new Feed()
  const requests = new Feed()
  const why = new Feed()

  const poll = async (): Promise<void> => {
    const limit = AbortSignal.any([quitting.signal, AbortSignal.timeout(POLL_LIMIT_MS)])
    const [{ pid }, { processes }, { usage }] = await Promise.all([
      client.get<{ readonly pid: number }>('/status', limit),
      client.get<{ readonly processes: readonly WireSummary[] }>('/processes', limit),
      client.get<{ readonly usage: readonly Usage[] }>('/usage', limit),
    ])
    supervisorPid = pid
    polledNow = { is: 'polled', address: client.url, processes, usage, nowMs: Date.now() }
    drawSoon()
    polled.resolve()
    polled = Promise.withResolvers()
  }

  const draw = (): void => {
    drawing = undefined
    drawnMs = performance.now()
    const entries = printed
    printed = []
    if (entries.length > 0) dispatch({ is: 'printed', entries })
    if (polledNow !== undefined) dispatch(polledNow)
    polledNow = undefined
    screen?.setMouse(state.hasMouse)
    screen?.draw(render(state).map((row) => paintRow(row, hasColor)))
  }
  const drawSoon = (): void => {
    drawing ??= setTimeout(guarded(draw), Math.max(0, drawnMs + DRAW_EVERY_MS - performance.now()))
  }

  const dispatch = (event: Event): void => {
    // A response that arrives after the end must not open a stream, which would keep the process alive.
    if (quitting.signal.aborted) return
    const { state: next, effect } = reduce(state, event)
    if (event.is === 'stored') printed = []
    state = next
    loadShown()
    drawSoon()
    if (effect !== undefined) perform(effect)
  }

  const onLine = (entry: WireLogEntry): void => {
    printed.push(entry)
    // More than are kept need not wait.
    if (printed.length > 2 * MAX_LINES) printed = printed.slice(-MAX_LINES)
    drawSoon()
  }

  const loadShown = (): void => {
    const source: Source = { client, dispatch: guarded(dispatch), onLine, whenPolled: () => polled.promise }
    const { isAll, selected, tab } = state
    if (selected === '') return
    const process = isAll ? undefined : selected
    const hasWhy = tab === 'why' || layoutOf(state).sideColumns > 0
    lines.want(keyOf(process ?? null), (signal) => {
      printed = []
      return followLines(source, process, signal)
    })
    requests.want(tab === 'requests' ? keyOf('') : undefined, (signal) => followRequests(source, signal))
    why.want(hasWhy ? keyOf(selected) : undefined, (signal) => followWhy(source, selected, signal))
  }
  const keyOf = (name: string | null): string => JSON.stringify([supervisorPid, name])

  const report = (error: unknown): void => dispatch({ is: 'reported', message: messageOf(error) })
  const perform = (effect: Effect): void => {
    if (effect.is === 'quit') {
      // Keys that arrived together with this one do nothing.
      quitting.abort()
      end.resolve()
    } else if (effect.is === 'act') act(effect).catch(report)
    else open(effect.id).catch(report)
  }
  const act = async ({ action, name }: Extract<Effect, { readonly is: 'act' }>): Promise<void> => {
    dispatch({ is: 'reported', message: `${action} ${name} …` })
    await client.post(`/processes/${encodeURIComponent(name)}/${action}`)
    dispatch({ is: 'reported', message: `${action} ${name}: ok` })
    await poll()
  }
  const open = async (id: string): Promise<void> => {
    const { request, logs } = await client.get<{
      readonly request: WireRequest
      readonly logs: readonly WireLogEntry[]
    }>(`/proxy/requests/${encodeURIComponent(id)}`)
    dispatch({ is: 'opened', request, entries: logs })
  }

  const onInput = (input: Input): void => dispatch({ is: 'input', input })
  const onResize = (): void => {
    screen?.forget()
    dispatch({ is: 'resized', ...size() })
  }
  /** Wraps a handler so that its failure restores the terminal before it is reported. */
  function guarded<Values extends readonly unknown[]>(handle: (...values: Values) => void) {
    return (...values: Values): void => {
      try {
        handle(...values)
      } catch (error) {
        end.reject(error)
      }
    }
  }

  let screen: ReturnType<typeof enterAlternateScreen> | undefined
  // Errors of the first connection are reported on the normal screen.
  await poll()
  screen = enterAlternateScreen(guarded(onInput), guarded(onResize))
  const onEnd = (): void => end.resolve()
  void untilStopSignal().then(onEnd)
  process.once('SIGHUP', onEnd)
  stdin.once('end', onEnd).once('error', onEnd)
  stdout.on('error', onEnd).on('resize', guarded(onResize))
  const polling = async (): Promise<void> => {
    while (!quitting.signal.aborted) {
      await delay(POLL_EVERY_MS, undefined, { signal: quitting.signal }).catch(
        ignore('a wait that was aborted'),
      )
      if (quitting.signal.aborted) return
      try {
        if (state.lost !== undefined) client = await connect()
        await poll()
      } catch (error) {
        polledNow = undefined
        dispatch({ is: 'lost', reason: messageOf(error) })
      }
    }
  }
  polling().catch((error: unknown) => end.reject(error))
  try {
    await end.promise
  } finally {
    screen.leave()
    quitting.abort()
    for (const feed of [lines, requests, why]) feed.want(undefined, () => Promise.resolve())
    clearTimeout(drawing)
  }
}
