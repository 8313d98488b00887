import { ask, follow, setToken } from './page-streams.js'

const KEPT_LINES = 2_000
const KEPT_REQUESTS = 200
const KEPT_SAMPLES = 60
const SVG = 'http://www.w3.org/2000/svg'

const byId = (id) => document.getElementById(id)
const rows = new Map()
const samples = new Map()
let following = new AbortController()

/** An element with classes and children; texts stay texts, whatever is in them. */
function make(tag, className, ...children) {
  const element = document.createElement(tag)
  if (className) element.className = className
  element.append(...children)
  return element
}

function tell(message) {
  byId('trouble').hidden = message === ''
  byId('trouble').textContent = message
}

/** The two largest units. */
function duration(seconds) {
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'm'],
    [1, 's'],
  ]
  const parts = []
  for (const [size, unit] of units) {
    const amount = Math.floor(seconds / size)
    seconds -= amount * size
    if (amount > 0 || (unit === 's' && parts.length === 0)) parts.push(amount + unit)
  }
  return parts.slice(0, 2).join(' ')
}

function graph(values, most) {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', `0 0 ${KEPT_SAMPLES} 20`)
  svg.setAttribute('preserveAspectRatio', 'none')
  svg.setAttribute('aria-hidden', 'true')
  const line = document.createElementNS(SVG, 'polyline')
  const points = values.map((value, at) => `${KEPT_SAMPLES - values.length + at},${19 - (18 * value) / most}`)
  line.setAttribute('points', points.join(' '))
  svg.append(line)
  return svg
}

function button(label, work) {
  const element = make('button', '', label)
  element.type = 'button'
  element.addEventListener('click', async () => {
    element.disabled = true
    await work().then(
      () => tell(''),
      (error) => tell(error.message),
    )
    element.disabled = false
    await look()
  })
  return element
}

function addRow(name) {
  const act = (action) => () => ask(`/processes/${encodeURIComponent(name)}/${action}`, 'POST')
  const cells = Array.from({ length: 7 }, () => make('td'))
  const actions = make(
    'td',
    '',
    button('Start', act('start')),
    button('Stop', act('stop')),
    button('Restart', act('restart')),
  )
  const row = make('tr', '', ...cells, actions)
  row.dataset.process = name
  byId('processes').tBodies[0].append(row)
  byId('of').append(new Option(name, name))
  rows.set(name, { row, cells, actions })
}

function sample(list, value) {
  if (list.push(value) > KEPT_SAMPLES) list.shift()
}

function show(process, used) {
  if (!rows.has(process.name)) addRow(process.name)
  const { cells, actions } = rows.get(process.name)
  const history = samples.get(process.name) ?? { cpu: [], memory: [] }
  samples.set(process.name, history)
  sample(history.cpu, used?.cpu_percent ?? 0)
  sample(history.memory, used?.memory_bytes ?? 0)
  const texts = [
    process.name,
    process.status,
    process.pid ? duration(process.uptime_seconds) : '–',
    process.restarts,
    process.health,
  ]
  texts.forEach((text, at) => (cells[at].textContent = text))
  cells[1].className = process.status
  cells[1].title = process.reason
  cells[4].className = process.health
  const memory = `${((used?.memory_bytes ?? 0) / 2 ** 20).toFixed(1)} MiB`
  cells[5].replaceChildren(
    graph(history.cpu, Math.max(100, ...history.cpu)),
    ` ${(used?.cpu_percent ?? 0).toFixed(1)}%`,
  )
  cells[6].replaceChildren(graph(history.memory, Math.max(1, ...history.memory)), ` ${memory}`)
  const isDown = process.status === 'stopped' || process.status === 'crashed'
  actions.children[0].hidden = !isDown
  actions.children[1].hidden = process.status === 'stopped'
}

async function look() {
  try {
    const [{ processes }, { usage }, status] = await Promise.all([
      ask('/processes'),
      ask('/usage'),
      ask('/status'),
    ])
    const used = new Map(usage.map((each) => [each.name, each]))
    for (const process of processes) show(process, used.get(process.name))
    const names = new Set(processes.map(({ name }) => name))
    for (const [name, { row }] of rows) {
      if (names.has(name)) continue
      row.remove()
      rows.delete(name)
      byId('of')
        .querySelector(`option[value="${CSS.escape(name)}"]`)
        ?.remove()
    }
    byId('about').textContent = `${status.config_file} · up ${duration(status.uptime_seconds)}`
    if (byId('requests').hidden && status.proxy) void startRequests()
    if (byId('all').hidden) enter()
    tell('')
  } catch (error) {
    if (error.status === 401) {
      byId('login').hidden = false
      byId('all').hidden = true
    }
    tell(error.status === undefined ? 'The supervisor does not answer.' : error.message)
  }
}

function addLines(elements) {
  const list = byId('lines')
  list.append(...elements)
  while (list.childElementCount > KEPT_LINES) list.firstElementChild.remove()
  if (byId('follow').checked) list.scrollTop = list.scrollHeight
}

function lineElement({ timestamp, process, stream, line }) {
  return make('li', stream, make('b', '', `${timestamp.slice(11, 23)} ${process} `), line)
}

/** Shows the lines that are kept, then those that come. */
async function startLogs() {
  following.abort()
  following = new AbortController()
  const { signal } = following
  byId('lines').replaceChildren()
  const query = new URLSearchParams({ strip_ansi: 'true' })
  if (byId('of').value) query.set('process', byId('of').value)
  if (byId('filter').value) query.set('pattern', byId('filter').value)
  if (byId('regex').checked) query.set('regex', 'true')
  let afterId
  try {
    const { logs, last_id } = await ask(`/logs?lines=500&${query}`)
    if (signal.aborted) return
    afterId = last_id
    addLines(logs.map(lineElement))
    tell('')
  } catch (error) {
    return tell(error.message)
  }
  await follow(
    `/logs/stream?${query}`,
    (events) =>
      addLines(
        events.map(({ name, data }) =>
          name === 'lost'
            ? make('li', 'lost', `${data.lines} lines of ${data.process} were not shown`)
            : lineElement(data),
        ),
      ),
    signal,
    afterId,
  )
}

async function startRequests() {
  byId('requests').hidden = false
  const body = byId('requests').querySelector('tbody')
  const add = (each) => {
    const cells = [
      each.timestamp.slice(11, 23),
      each.status_code,
      `${each.duration_ms} ms`,
      `${each.method} ${each.subdomain} ${each.url}`,
    ]
    const again = make(
      'td',
      '',
      button('Replay', () => ask(`/proxy/requests/${each.id}/replay`, 'POST')),
    )
    body.prepend(make('tr', '', ...cells.map((text) => make('td', '', String(text))), again))
    if (body.rows.length > KEPT_REQUESTS) body.lastElementChild.remove()
  }
  const { requests } = await ask('/proxy/requests')
  requests.forEach(add)
  await follow(
    '/proxy/requests/stream',
    (events) => events.filter(({ name }) => name === 'message').forEach(({ data }) => add(data)),
    new AbortController().signal,
  )
}

function enter() {
  byId('login').hidden = true
  byId('all').hidden = false
  void startLogs()
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault()
  setToken(byId('token').value.trim())
  void look()
})
let typing
byId('filter').addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(() => void startLogs(), 250)
})
for (const id of ['of', 'regex']) byId(id).addEventListener('change', () => void startLogs())
await look()
setInterval(look, 1_000)
