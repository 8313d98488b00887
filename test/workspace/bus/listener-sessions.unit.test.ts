import { expect, test } from 'vitest'
import { ListenerSessions } from '../../../src/workspace/bus/listener-sessions.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const TIMEOUT_MS = 30_000
const request = (id: string, workspace = 'demo') => ({ id, workspace })

function sessions() {
  const clock = new FakeClock()
  return { clock, sessions: new ListenerSessions({ requestTimeoutMs: TIMEOUT_MS, clock }) }
}

const jsonOf = (stream: ReturnType<ListenerSessions['open']>) => stream.missed.map(({ json }) => json)

test('a listener that comes back gets what it has not received, in order', () => {
  const { sessions: all } = sessions()
  const first = all.open('ns', undefined)
  const ids = ['a', 'b', 'c'].map((id) => first.add(id, request(id)))
  first.add('event')
  first.close()
  const second = all.open('ns', ids[0])
  expect(jsonOf(second)).toEqual(['b', 'c'])
  expect(second.missed.map(({ id }) => id)).toEqual(ids.slice(1))
  expect(second.lastEventId).toBe(ids[0])
  // Lost again before anything arrived.
  second.close()
  expect(jsonOf(all.open('ns', second.lastEventId))).toEqual(['b', 'c'])
})

test('a listener that has received nothing continues from its stream’s first ID', () => {
  const { sessions: all } = sessions()
  const first = all.open('ns', undefined)
  first.add('a', request('a'))
  first.close()
  expect(jsonOf(all.open('ns', first.lastEventId))).toEqual(['a'])
})

test('an answered request is not sent again, and only its own workspace’s answer counts', () => {
  const { sessions: all } = sessions()
  const first = all.open('ns', undefined)
  for (const workspace of ['one', 'two']) first.add(workspace, request('same-id', workspace))
  all.answered('ns', request('same-id', 'ONE'))
  all.answered('other', request('same-id', 'two'))
  first.close()
  expect(jsonOf(all.open('ns', first.lastEventId))).toEqual(['two'])
})

test.each([undefined, '', '7', 'x.1', `${'0'.repeat(16)}.0`, `${'0'.repeat(16)}.-1`, 'é'.repeat(10_000)])(
  'a listener with the unknown event ID %j gets nothing that another may be handling',
  (lastEventId) => {
    const { sessions: all } = sessions()
    const first = all.open('ns', undefined)
    first.add('a', request('a'))
    first.close()
    const other = all.open('ns', lastEventId)
    expect(other.missed).toEqual([])
    // The other listener has replaced the session.
    other.close()
    expect(all.open('ns', first.lastEventId).missed).toEqual([])
  },
)

test('an event ID of another namespace is unknown', () => {
  const { sessions: all } = sessions()
  const first = all.open('ns', undefined)
  first.add('a', request('a'))
  first.close()
  expect(all.open('other', first.lastEventId).missed).toEqual([])
  expect(jsonOf(all.open('ns', first.lastEventId))).toEqual(['a'])
})

test('an expired request is not sent again, and a session without a listener is forgotten', async () => {
  const { clock, sessions: all } = sessions()
  const first = all.open('ns', undefined)
  first.add('old', request('old'))
  await clock.pass(TIMEOUT_MS - 1)
  first.add('new', request('new'))
  first.close()
  await clock.pass(1)
  const second = all.open('ns', first.lastEventId)
  expect(jsonOf(second)).toEqual(['new'])
  expect(clock.timers).toBe(0)
  second.close()
  await clock.pass(TIMEOUT_MS)
  expect(all.open('ns', first.lastEventId).lastEventId).not.toBe(first.lastEventId)
})

test('B5 beyond its limits a session forgets its oldest requests', () => {
  const { sessions: all } = sessions()
  const first = all.open('ns', undefined)
  for (let n = 0; n < 1_002; n++) first.add(String(n), request(String(n)))
  expect(jsonOf(all.open('ns', first.lastEventId))).toHaveLength(1_000)
  const large = all.open('large', undefined)
  for (let n = 0; n < 20; n++) large.add('x'.repeat(2 ** 20), request(String(n)))
  expect(jsonOf(all.open('large', large.lastEventId))).toHaveLength(16)
})
