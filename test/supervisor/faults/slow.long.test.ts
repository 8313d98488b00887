import { expect, test } from 'vitest'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

test('F25 a process that always crashes is restarted with growing delays and given up after five crashes', async () => {
  const { ask, until } = await startSupervisor({ bad: { cmd: 'exit 7' } })
  await waitFor('the end', async () => (await ask('/processes/bad')).body.reason.includes('given up'))
  await until('bad', 'crashed')
  const { body } = await ask('/processes/bad')
  const times = body.history
    .filter((each: any) => each.status === 'crashed')
    .map((each: any) => Date.parse(each.timestamp))
  const gaps = times.slice(1).map((time: number, at: number) => Math.round((time - times[at]) / 1_000))
  expect(gaps).toEqual([1, 2, 4, 8])
  expect(body).toMatchObject({ restarts: 4, next_retry: null })
  expect((await ask('/processes/bad/start', 'POST')).status).toBe(200)
})

test('H12 a stalled reader is notified of the lines it missed and delays nobody', async () => {
  const { url, ask } = await startSupervisor({
    flood: {
      cmd: "while :; do yes 'a line of some length that fills what there is to fill soon' | head -n 20000; sleep 0.05; done",
      log: { buffer_lines: 1000 },
    },
  })
  const response = await fetch(`${url}/api/v1/logs/stream`)
  await waitFor(
    'a flood',
    async () => (await ask('/processes/flood')).status === 200 && (await linesOf(url)) > 1_000_000,
  )
  const reader = response.body?.getReader()
  let text = ''
  await waitFor('what was lost', async () => {
    text = (text + new TextDecoder().decode((await reader?.read())?.value)).slice(-400_000)
    return text.includes('event: lost')
  })
  expect(/event: lost\ndata: (.*)/.exec(text)?.[1]).toMatch(/^{"process":"flood","lines":\d+,"exact":true}$/)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(Number(/^supervisor_stream_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0)
  await reader?.cancel()
})

async function linesOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/supervisor_process_log_lines{process="flood"} (\d+)/.exec(text)?.[1] ?? 0)
}
