import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectAccessible } from '../../../../support/browser/accessible.ts'
import { openPage } from '../../../../support/browser/chromium.ts'
import { keepScreenshot } from '../../../../support/browser/keep-screenshot.ts'
import { askProxy } from '../../../../support/supervisor/proxied.ts'
import { freePort } from '../../../../support/services/free-port.ts'
import { startSupervisor } from '../../../../support/supervisor/supervisor.ts'
import { waitFor } from '../../../../support/wait-for.ts'

test('the page shows processes, lines and requests with a token, and starts and stops', async () => {
  const evil = '</script><img src=x onerror=document.title="taken">'
  // Answers "/shown" when the test allows it.
  const program = `
    const held = []
    process.on('SIGUSR2', () => held.forEach((response) => response.end()))
    require('http').createServer(({ url }, response) => {
      console.log(url)
      if (url === '/shown') held.push(response)
      else response.end(String(process.pid))
    }).listen(process.env.PORT)`
  const { url, running, ask } = await startSupervisor(
    {
      web: { cmd: `exec node -e "${program}"`, proxy: { port: await freePort() } },
      talker: {
        cmd: `i=0; while sleep 0.1; do i=$((i+1)); echo "tick $i"; printf '\\033[31m${evil}\\033[0m\\n' >&2; done`,
      },
    },
    { api: { port: 0, host: '0.0.0.0', token_file: 'token' }, proxy: { enabled: true, port: 0 } },
  )
  const page = await openPage(url.replace('0.0.0.0', '127.0.0.1'))
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression))
  await until(
    'the question for the token',
    '!document.getElementById("login").hidden && document.getElementById("all").hidden',
  )
  await expectAccessible(page, 'the question for the token')
  await page.click('#token')
  await page.type(running.token ?? '')
  await page.press('Enter')
  await until('the processes', 'document.querySelectorAll("#processes tbody tr").length === 2')
  await until('that it runs', 'document.querySelector("[data-process=talker] .running") !== null')
  await until('lines', 'document.querySelectorAll("#lines li").length > 6')
  await until('figures', '/MiB/.test(document.querySelector("[data-process=talker]").textContent)')
  await keepScreenshot('supervisor-running', page)

  await expectAccessible(page, 'processes, lines and requests')

  // Output is always text, never markup.
  expect(await page.evaluate('document.title')).toBe('Supervisor')
  expect(await page.evaluate('document.images.length')).toBe(0)
  expect(await page.evaluate('document.getElementById("lines").textContent.includes("onerror")')).toBe(true)

  // The server filters.
  await page.click('#filter')
  await page.type('tick')
  await until(
    'filtered lines',
    '[...document.querySelectorAll("#lines li")].length > 2 && [...document.querySelectorAll("#lines li")].every((li) => li.textContent.includes("tick"))',
  )

  // A request through the proxy appears without a reload.
  await waitFor(
    'the process behind the proxy',
    async () => (await askProxy(running.proxyPort, '/')).status === 200,
  )
  const shown = askProxy(running.proxyPort, '/shown')
  // The lines of a request are those that the supervisor has read when it ends.
  const bearer = { authorization: `Bearer ${running.token}` }
  await waitFor(
    'its line',
    async () => (await ask('/logs?pattern=/shown', 'GET', bearer)).body.filtered_count === 1,
  )
  process.kill(Number((await askProxy(running.proxyPort, '/')).body), 'SIGUSR2')
  expect((await shown).status).toBe(200)
  await until('the request', 'document.getElementById("requests").textContent.includes("/shown")')
  // What its process printed meanwhile is shown below it, and hidden again.
  const lines =
    '[...document.querySelectorAll("#requests button")].find((each) => each.textContent === "Lines")'
  await page.evaluate(`${lines}.click()`)
  await until('its lines', '/web \\/shown$/.test(document.querySelector("#requests .lines li")?.textContent)')
  await expectAccessible(page, 'a request with its lines')
  await keepScreenshot('supervisor-requests', page)
  await page.evaluate(`${lines}.click()`)
  expect(await page.evaluate('document.querySelector("#requests .lines")')).toBe(null)

  await page.click('[data-process=talker] td:last-child button:nth-child(2)')
  await until('that it stopped', 'document.querySelector("[data-process=talker] .stopped") !== null')
  await page.click('[data-process=talker] td:last-child button:nth-child(1)')
  await until('that it runs again', 'document.querySelector("[data-process=talker] .running") !== null')
  // On a phone, nothing exceeds the width of the screen.
  await page.setWidth(390)
  expect(await page.evaluate('getComputedStyle(document.getElementById("login")).display')).toBe('none')
  await keepScreenshot('supervisor-phone', page)
  expect(await page.evaluate('document.documentElement.clientWidth')).toBe(390)
  expect(
    await page.evaluate<boolean>(
      'document.documentElement.scrollWidth <= document.documentElement.clientWidth',
    ),
  ).toBe(true)
  // The buttons are visible without scrolling.
  expect(
    await page.evaluate<boolean>(
      '(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector("section"))',
    ),
  ).toBe(true)
  await page.setDark(true)
  await keepScreenshot('supervisor-dark', page)
  // Only the response before the token was entered.
  expect(page.complaints.filter((complaint) => !complaint.includes('401'))).toEqual([])
})

test('the page filters by group, and starts and stops a group', async () => {
  const long = (name: string) => ({ cmd: `echo "$$ of ${name}"; exec sleep 1000` })
  const {
    url,
    ask,
    until: untilStatus,
  } = await startSupervisor({
    db: { ...long('db'), groups: ['back'] },
    api: { ...long('api'), groups: ['back', 'all-apis'] },
    web: long('web'),
  })
  const page = await openPage(url)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression))
  const shown =
    '[...document.querySelectorAll("#processes tbody tr")].filter((row) => !row.hidden).map((row) => row.dataset.process).join()'
  const lines =
    '[...document.querySelectorAll("#lines li")].map((li) => li.textContent.split(" ").at(-1)).toSorted().join()'
  const choose = (name: string) =>
    page.evaluate(
      `(() => { const list = document.getElementById("group"); list.value = ${JSON.stringify(name)}; list.dispatchEvent(new Event("change")) })()`,
    )
  const press = (label: string) =>
    page.evaluate(
      `[...document.querySelectorAll("#groups button")].find((each) => each.textContent === ${JSON.stringify(label)}).click()`,
    )
  await until('the processes', `${shown} === "db,api,web"`)
  await until('all lines', `${lines} === "api,db,web"`)
  expect(
    await page.evaluate('[...document.getElementById("group").options].map(({ text }) => text).join()'),
  ).toBe('all groups,all-apis,back')
  expect(await page.evaluate('document.querySelector("#groups span").hidden')).toBe(true)
  await choose('back')
  await until('the group', `${shown} === "db,api"`)
  await until('its lines', `${lines} === "api,db"`)
  await expectAccessible(page, 'the processes of a group')
  await page.setWidth(375)
  await keepScreenshot('supervisor-group-phone', page)
  await page.resetWidth()
  await press('Stop group')
  await until('that it stopped', 'document.querySelectorAll("#processes .stopped").length === 2')
  await press('Start group')
  await untilStatus('api', 'running')
  await press('Restart group')
  await waitFor('the restart', async () => (await ask('/processes/db')).body.restarts === 1)
  expect((await ask('/processes/web')).body).toMatchObject({ status: 'running', restarts: 0 })
  await keepScreenshot('supervisor-group', page)
  await choose('')
  await until('all again', `${shown} === "db,api,web"`)
  expect(page.complaints).toEqual([])
})

test('the page draws how processes depend on each other', async () => {
  const long = { cmd: 'exec sleep 1000' }
  const healthy = { healthcheck: { exec: 'true', interval: '100ms' } }
  const { url, ask, write, dir } = await startSupervisor({
    db: { ...long, ...healthy },
    cache: long,
    migrate: { cmd: 'true', restart: 'never', depends_on: { db: 'healthy' } },
    api: {
      ...long,
      replicas: 2,
      groups: ['back'],
      depends_on: { db: 'healthy', cache: 'started', migrate: 'completed' },
    },
    'a-web-server-with-quite-a-long-name': {
      ...long,
      ...healthy,
      depends_on: { api: 'started', cache: 'started' },
    },
    broken: { cmd: 'exit 3', restart: 'never', depends_on: { db: 'healthy' } },
    waiting: { ...long, depends_on: { broken: 'completed' } },
    alone: long,
  })
  const page = await openPage(url)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression))
  const box = (name: string) =>
    `[...document.querySelectorAll("#graph-canvas button")].find((each) => each.querySelector("b").textContent === ${JSON.stringify(name)})`
  const label = (name: string, text: string) => until(text, `${box(name)}?.title === ${JSON.stringify(text)}`)
  await label('db', 'db is running, healthy')
  await label('api', 'api is 2 of 2 running; depends on db (healthy), cache (started), migrate (completed)')
  await label('migrate', 'migrate is stopped; depends on db (healthy)')
  await label('broken', 'broken is crashed; depends on db (healthy)')
  await label('waiting', 'waiting is starting; depends on broken (completed)')
  expect(await page.evaluate(`${box('alone')} === undefined`)).toBe(true)
  expect(
    await page.evaluate(
      '[...document.querySelectorAll("#graph-canvas text")].map((each) => each.textContent).toSorted().join()',
    ),
  ).toBe('completed,completed,healthy,healthy,healthy,started,started,started')
  await expectAccessible(page, 'the graph')
  await page.resize(1440, 900)
  await keepScreenshot('supervisor-graph', page)

  // With the keyboard, a box selects its process: of replicas, the one whose state matters most.
  await ask('/processes/api-2/stop', 'POST')
  await label('api', 'api is 1 of 2 running; depends on db (healthy), cache (started), migrate (completed)')
  await page.evaluate('document.querySelector("#graph-canvas button").focus()')
  await page.press('Tab', 'Tab')
  expect(
    await page.evaluate('document.activeElement === document.querySelectorAll("#graph-canvas button")[2]'),
  ).toBe(true)
  const focused = await page.evaluate<string>('document.activeElement.querySelector("b").textContent')
  await page.press('Enter')
  await until('it to be marked', `${box(focused)}.getAttribute("aria-current") === "true"`)
  await page.evaluate(`${box('api')}.click()`)
  await until('the details', 'document.getElementById("details-title").textContent.startsWith("api-2 is")')
  await until('the mark', `${box('api')}.getAttribute("aria-current") === "true"`)
  expect(await page.evaluate(`${box(focused)}.getAttribute("aria-current")`)).toBe('false')
  await expectAccessible(page, 'the graph with a selected process')

  // On a phone, it scrolls in its own box.
  await page.setWidth(375)
  await page.setDark(true)
  await page.evaluate('document.getElementById("graph").scrollIntoView()')
  await keepScreenshot('supervisor-graph-phone', page)
  expect(
    await page.evaluate<[boolean, boolean]>(
      `(() => {
        const view = document.getElementById("graph-view")
        return [view.scrollWidth > view.clientWidth, document.documentElement.scrollWidth <= document.documentElement.clientWidth]
      })()`,
    ),
  ).toEqual([true, true])

  // It follows a reload, and without dependencies there is none.
  const rest = { api: { port: 0 }, log: { level: 'silent' }, state_dir: join(dir, 'state') }
  write({ ...rest, processes: { db: { ...long, ...healthy }, alone: long } })
  expect((await ask('/reload', 'POST')).status).toBe(200)
  await until('that it is hidden', 'document.getElementById("graph").hidden')
  expect(page.complaints).toEqual([])
})

test('the page explains why a process is in its state, and follows it', async () => {
  const evil = '<img src=x onerror=document.title="taken">'
  const { url, ask } = await startSupervisor({
    bad: { cmd: `echo 'no configuration ${evil}'; exit 3`, restart: 'never' },
    waiting: { cmd: 'sleep 1000', depends_on: { bad: 'completed' } },
  })
  const page = await openPage(url)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression))
  const text = (id: string) => page.evaluate<string>(`document.getElementById("${id}").textContent`)
  await until('the processes', 'document.querySelectorAll("#processes tbody tr").length === 2')
  await page.evaluate('document.querySelector("[data-process=bad] .link").click()')
  await until('the details', '!document.getElementById("details").hidden')
  const why = (await ask('/processes/bad/why')).body
  expect(await text('details-title')).toBe(`bad is ${why.status}: ${why.reason}`)
  expect(await text('facts')).toContain('status 3')
  expect(await text('last-output')).toBe(`no configuration ${evil}`)
  expect(await text('advice')).toBe(why.advice.join(''))
  await expectAccessible(page, 'the details of a process')
  await keepScreenshot('supervisor-details', page)

  await page.evaluate('document.querySelector("[data-process=waiting] .link").click()')
  await until('the other', 'document.getElementById("details-title").textContent.startsWith("waiting is")')
  expect(await text('facts')).toContain('bad to be completed: not yet')
  // They change with the process.
  const stopped = (await ask('/processes/waiting/stop', 'POST')).status
  expect(stopped).toBe(200)
  await until(
    'the change',
    'document.getElementById("details-title").textContent.startsWith("waiting is stopped")',
  )
  await page.evaluate('document.getElementById("details-close").click()')
  expect(await page.evaluate<boolean>('document.getElementById("details").hidden')).toBe(true)
  expect(await page.evaluate<[string, number]>('[document.title, document.images.length]')).toEqual([
    'Supervisor',
    0,
  ])
  expect(page.complaints).toEqual([])
})

test('a terminal on the page types into a process, across its restarts', async () => {
  const { url, ask } = await startSupervisor({
    shell: { cmd: 'exec bash --norc --noprofile', tty: true, stop_signal: 'SIGHUP', env: { PS1: 'ready> ' } },
    plain: { cmd: 'sleep 1000' },
  })
  const page = await openPage(url)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression))
  const button = (name: string) =>
    `[...document.querySelectorAll("[data-process=${name}] button")].find((each) => each.textContent === "Terminal")`
  const screen = `(document.querySelector(".xterm-rows")?.innerText ?? "")`
  await until('the processes', 'document.querySelectorAll("#processes tbody tr").length === 2')
  expect(await page.evaluate<boolean>(`${button('plain')}.hidden`)).toBe(true)
  await page.evaluate(`${button('shell')}.click()`)
  await until('the prompt', `${screen}.includes("ready>")`)
  await page.type('echo made-$((1+1))')
  await page.press('Enter')
  await until('its output', `${screen}.includes("made-2")`)
  await until('the state', 'document.getElementById("terminal-state").textContent === "running"')

  // The program has the size that the page shows, also after it changes.
  await page.evaluate('document.querySelector(".terminal-place").style.height = "200px"')
  await page.type(
    'clear; until [ $(stty size | cut -d " " -f 1) -lt 15 ]; do sleep 0.1; done; echo small-$((2+2))',
  )
  await page.press('Enter')
  await until('the new size', `${screen}.includes("small-4")`)

  // Another run has the same terminal.
  await page.type('clear; kill -9 $$')
  await page.press('Enter')
  await until('that it exited', 'document.getElementById("terminal-state").textContent.includes("SIGKILL")')
  await ask('/processes/shell/start', 'POST')
  await until('that it runs', 'document.getElementById("terminal-state").textContent === "running"')
  await page.evaluate('document.querySelector(".xterm textarea").focus()')
  await page.type("printf '\\033]0;taken\\007'; echo again-$((3+3)) '<img src=x>'")
  await page.press('Enter')
  await until('its output', `${screen}.includes("again-6 <img src=x>")`)
  await keepScreenshot('supervisor-terminal', page)
  await expectAccessible(page, 'a terminal')
  await page.setDark(true)
  await keepScreenshot('supervisor-terminal-dark', page)
  await page.setWidth(390)
  await keepScreenshot('supervisor-terminal-phone', page)
  expect(
    await page.evaluate<boolean>(
      '(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector("section"))',
    ),
  ).toBe(true)
  expect(await page.evaluate<[string, number]>('[document.title, document.images.length]')).toEqual([
    'Supervisor',
    0,
  ])

  // What was printed before is shown again, and closing it leaves the process alone.
  await page.evaluate('document.getElementById("terminal-close").click()')
  expect(await page.evaluate<boolean>('document.getElementById("terminal").hidden')).toBe(true)
  await page.evaluate(`${button('shell')}.click()`)
  await until('the stored output', `${screen}.includes("again-6")`)
  expect((await ask('/processes/shell')).body).toMatchObject({ status: 'running', tty: true })
  expect(page.complaints).toEqual([])
})
