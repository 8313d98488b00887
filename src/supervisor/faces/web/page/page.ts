import { byId, make } from '../../../../lib/page/elements.ts'
import type { WireLogEntry, WireLogs } from '../../../api/log.ts'
import type { usageToWire, WireSummary } from '../../../api/process.ts'
import type { WireRequest } from '../../../api/request.ts'
import { formatUptime } from '../../../api/uptime.ts'
import { closeDetails, showDetailsOf, updateDetails } from './details-section.ts'
import { showGraph } from './graph-section.ts'
import { chosenGroup, isShown, startGroupFilter, updateGroups } from './group-filter.ts'
import { ApiError, ask, follow, setToken, type StreamEvent } from './streams.ts'
import { closeTerminal, showTerminalOf } from './terminal-section.ts'

const KEPT_LINES = 2_000
const KEPT_REQUESTS = 200
const KEPT_SAMPLES = 60
const SVG = 'http://www.w3.org/2000/svg'

type Usage = ReturnType<typeof usageToWire>['usage'][number]

/** The displayed part of the supervisor's status. */
interface Status {
  readonly config_file: string
  readonly uptime_seconds: number
  readonly proxy: unknown
}

/** Lines that this page missed. */
interface LostLines {
  readonly process: string
  readonly lines: number
}

const processes = byId('processes', HTMLTableElement)
const requestRows = byId('requests', HTMLElement)
const login = byId('login', HTMLFormElement)
const all = byId('all', HTMLElement)
const processChoice = byId('of', HTMLSelectElement)
const filter = byId('filter', HTMLInputElement)
const regex = byId('regex', HTMLInputElement)
const rows = new Map<string, ProcessRow>()
let following = new AbortController()

function notify(message: string): void {
  const trouble = byId('trouble', HTMLElement)
  trouble.hidden = message === ''
  trouble.textContent = message
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Recent values of a measurement. */
class Samples {
  readonly #values: number[] = []

  add(value: number): void {
    if (this.#values.push(value) > KEPT_SAMPLES) this.#values.shift()
  }

  /** Draws a graph. @param least minimum value at the graph's top */
  graph(least: number): SVGElement {
    const svg = document.createElementNS(SVG, 'svg')
    svg.setAttribute('viewBox', `0 0 ${KEPT_SAMPLES} 20`)
    svg.setAttribute('preserveAspectRatio', 'none')
    svg.setAttribute('aria-hidden', 'true')
    const line = document.createElementNS(SVG, 'polyline')
    const most = Math.max(least, ...this.#values)
    const first = KEPT_SAMPLES - this.#values.length
    const points = this.#values.map((value, at) => `${first + at},${19 - (18 * value) / most}`)
    line.setAttribute('points', points.join(' '))
    svg.append(line)
    return svg
  }
}

function button(label: string, work: () => Promise<unknown>): HTMLButtonElement {
  const element = make('button', { type: 'button' }, label)
  const press = async (): Promise<void> => {
    element.disabled = true
    await work().then(
      () => notify(''),
      (error: unknown) => notify(messageOf(error)),
    )
    element.disabled = false
    await look()
  }
  element.addEventListener('click', () => void press())
  return element
}

/** Table row of a process. */
class ProcessRow {
  readonly #name: string
  readonly #row: HTMLTableRowElement
  readonly #option: HTMLOptionElement
  readonly #cells = {
    name: make('td'),
    status: make('td'),
    uptime: make('td'),
    restarts: make('td'),
    health: make('td'),
    cpu: make('td'),
    memory: make('td'),
  }
  readonly #start: HTMLButtonElement
  readonly #stop: HTMLButtonElement
  readonly #terminal: HTMLButtonElement
  readonly #cpu = new Samples()
  readonly #memory = new Samples()

  constructor(name: string) {
    this.#name = name
    const act = (action: string) => (): Promise<unknown> =>
      ask(`/processes/${encodeURIComponent(name)}/${action}`, 'POST')
    this.#start = button('Start', act('start'))
    this.#stop = button('Stop', act('stop'))
    this.#terminal = button('Terminal', () => showTerminalOf(name))
    const actions = make('td', {}, this.#start, this.#stop, button('Restart', act('restart')), this.#terminal)
    this.#row = make('tr', {}, ...Object.values(this.#cells), actions)
    this.#row.dataset['process'] = name
    const details = button(name, () => showDetailsOf(name))
    details.className = 'link'
    details.title = `Explain the state of ${name}`
    this.#cells.name.append(details)
    processes.tBodies[0]?.append(this.#row)
    this.#option = new Option(name, name)
    processChoice.append(this.#option)
  }

  show(process: WireSummary, used: Usage | undefined): void {
    const { cpu_percent: cpu = 0, memory_bytes: memory = 0 } = used ?? {}
    this.#cpu.add(cpu)
    this.#memory.add(memory)
    this.#row.hidden = !isShown(process)
    const cells = this.#cells
    const isFine = process.status === 'running' && process.health !== 'unhealthy'
    cells.status.replaceChildren(process.status, make('small', { hidden: isFine }, process.reason))
    cells.status.className = process.status
    cells.status.title = process.reason
    cells.uptime.textContent = process.pid === 0 ? '–' : formatUptime(process.uptime_seconds)
    cells.restarts.textContent = String(process.restarts)
    cells.health.textContent = process.health
    cells.health.className = process.health
    cells.cpu.replaceChildren(this.#cpu.graph(100), ` ${cpu.toFixed(1)}%`)
    cells.memory.replaceChildren(this.#memory.graph(1), ` ${(memory / 2 ** 20).toFixed(1)} MiB`)
    this.#start.hidden = process.status !== 'stopped' && process.status !== 'crashed'
    this.#stop.hidden = process.status === 'stopped'
    this.#terminal.hidden = !process.tty
    updateDetails(process).catch((error: unknown) => notify(messageOf(error)))
    if (!process.tty) closeTerminal(process.name)
  }

  remove(): void {
    this.#row.remove()
    this.#option.remove()
    closeTerminal(this.#name)
    closeDetails(this.#name)
  }
}

function showProcesses(summaries: readonly WireSummary[], usage: readonly Usage[]): void {
  updateGroups(summaries)
  showGraph(summaries, isShown, button)
  const used = new Map(usage.map((each) => [each.name, each]))
  for (const summary of summaries) {
    const row = rows.get(summary.name) ?? new ProcessRow(summary.name)
    rows.set(summary.name, row)
    row.show(summary, used.get(summary.name))
  }
  const names = new Set(summaries.map(({ name }) => name))
  const longest = Math.max(0, ...[...names].map(({ length }) => length))
  all.style.setProperty('--name-width', `${longest}ch`)
  for (const [name, row] of rows) {
    if (names.has(name)) continue
    row.remove()
    rows.delete(name)
  }
}

async function look(): Promise<void> {
  try {
    const [summaries, { usage }, status] = await Promise.all([
      ask<{ readonly processes: readonly WireSummary[] }>('/processes'),
      ask<{ readonly usage: readonly Usage[] }>('/usage'),
      ask<Status>('/status'),
    ])
    showProcesses(summaries.processes, usage)
    byId('about', HTMLElement).textContent =
      `${status.config_file} · up ${formatUptime(status.uptime_seconds)}`
    if (requestRows.hidden && status.proxy)
      startRequests().catch((error: unknown) => notify(messageOf(error)))
    if (all.hidden) enter()
    notify('')
  } catch (error) {
    if (!(error instanceof ApiError)) return notify('The supervisor does not respond.')
    if (error.status === 401) {
      login.hidden = false
      all.hidden = true
    }
    notify(error.message)
  }
}

function addLines(elements: readonly HTMLElement[]): void {
  const list = byId('lines', HTMLElement)
  list.append(...elements)
  while (list.childElementCount > KEPT_LINES) list.firstElementChild?.remove()
  if (byId('follow', HTMLInputElement).checked) list.scrollTop = list.scrollHeight
}

function lineElement({ timestamp, process, stream, line }: WireLogEntry): HTMLElement {
  return make(
    'li',
    { className: stream },
    make('b', {}, `${timestamp.slice(11, 23)} `, make('span', {}, process), ' '),
    line,
  )
}

function eventElement({ name, data }: StreamEvent<WireLogEntry | LostLines>): HTMLElement {
  if (name === 'lost' && 'lines' in data)
    return make('li', { className: 'lost' }, `${data.lines} lines of ${data.process} were not shown`)
  return lineElement(data as WireLogEntry)
}

/** Shows the stored lines, then new ones. */
async function startLogs(): Promise<void> {
  following.abort()
  following = new AbortController()
  const { signal } = following
  byId('lines', HTMLElement).replaceChildren()
  const query = new URLSearchParams({ strip_ansi: 'true' })
  if (processChoice.value) query.set('process', processChoice.value)
  else if (chosenGroup()) query.set('group', chosenGroup())
  if (filter.value) query.set('pattern', filter.value)
  if (regex.checked) query.set('regex', 'true')
  try {
    const { logs, last_id: afterId } = await ask<WireLogs>(`/logs?lines=500&${query}`)
    if (signal.aborted) return
    addLines(logs.map(lineElement))
    notify('')
    await follow<WireLogEntry | LostLines>(
      `/logs/stream?${query}`,
      (events) => addLines(events.map(eventElement)),
      signal,
      { afterId },
    )
  } catch (error) {
    notify(messageOf(error))
  }
}

async function startRequests(): Promise<void> {
  requestRows.hidden = false
  const { requests } = await ask<{ readonly requests: readonly WireRequest[] }>('/proxy/requests')
  requests.toReversed().forEach(addRequest)
  await follow<WireRequest>(
    '/proxy/requests/stream',
    (events) => events.filter(({ name }) => name === 'message').forEach(({ data }) => addRequest(data)),
    new AbortController().signal,
  )
}

function addRequest(request: WireRequest): void {
  const body = requestRows.querySelector('tbody')
  if (body === null) return
  const texts = [
    request.timestamp.slice(11, 23),
    String(request.status_code),
    request.held_ms === 0
      ? `${request.duration_ms} ms`
      : `${request.duration_ms} ms (${request.held_ms} held)`,
    `${request.method} ${request.subdomain} ${request.url}`,
  ]
  const replay = button('Replay', () => ask(`/proxy/requests/${request.id}/replay`, 'POST'))
  const row = make('tr', {}, ...texts.map((text) => make('td', {}, text)))
  const lines = button('Lines', () => toggleLines(row, request))
  lines.setAttribute('aria-expanded', 'false')
  row.append(make('td', {}, lines, replay))
  body.prepend(row)
  // Lines below a request do not count.
  while (body.querySelectorAll('tr:not(.lines)').length > KEPT_REQUESTS) body.lastElementChild?.remove()
}

/** Shows below a request what its process printed meanwhile, or hides it again. */
async function toggleLines(row: HTMLTableRowElement, { id, process }: WireRequest): Promise<void> {
  const control = row.querySelector('[aria-expanded]')
  if (row.nextElementSibling?.className === 'lines') {
    row.nextElementSibling.remove()
    return control?.setAttribute('aria-expanded', 'false')
  }
  const { logs } = await ask<{ readonly logs: readonly WireLogEntry[] }>(`/proxy/requests/${id}`)
  const none = `${process ?? 'No process'} printed nothing during this request.`
  const list = logs.length === 0 ? none : make('ol', {}, ...logs.map(lineElement))
  row.after(make('tr', { className: 'lines' }, make('td', { colSpan: 5 }, list)))
  control?.setAttribute('aria-expanded', 'true')
}

function enter(): void {
  login.hidden = true
  all.hidden = false
  void startLogs()
}

login.addEventListener('submit', (event) => {
  event.preventDefault()
  setToken(byId('token', HTMLInputElement).value.trim())
  void look()
})
let typing: ReturnType<typeof setTimeout> | undefined
filter.addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(() => void startLogs(), 250)
})
for (const control of [processChoice, regex]) control.addEventListener('change', () => void startLogs())
startGroupFilter(button, () => {
  const [every] = processChoice.options
  if (every !== undefined) every.text = chosenGroup() === '' ? 'all processes' : `all of ${chosenGroup()}`
  if (processChoice.value === '') void startLogs()
  void look()
})
await look()
setInterval(() => void look(), 1_000)
