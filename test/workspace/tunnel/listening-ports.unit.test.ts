import { expect, test } from 'vitest'
import { parsePorts, waitForPort } from '../../../src/workspace/tunnel/listening-ports.ts'

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
const line = (address: string, state: string, inode: number) =>
  `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000000000000000 100 0 0 10 0`
const said = (sockets: readonly string[], names = '', files = '') =>
  `${HEAD}\n${sockets.join('\n')}\n==\n${names}==\n${files}`

test('listening sockets are ports in ascending order, and others are not', () => {
  const sockets = [
    line('0100007F:1F90', '0A', 11),
    line('00000000:0BB8', '0A', 12),
    line('0100007F:D431', '01', 13),
  ]
  expect(parsePorts(said(sockets))).toEqual([
    { port: 3000, address: '0.0.0.0', process: undefined },
    { port: 8080, address: '127.0.0.1', process: undefined },
  ])
})

test('addresses of both families are formatted for people', () => {
  const addresses = [
    '00000000000000000000000000000000',
    '00000000000000000000000001000000',
    'B80D01200000000000000000010000FF',
  ]
  const sockets = addresses.map((address, at) => line(`${address}:000${at + 1}`, '0A', at))
  expect(parsePorts(said(sockets)).map(({ address }) => address)).toEqual(['::', '::1', '2001:db8::ff00:1'])
})

test('a port with several sockets is reported once, with the one that tunnels reach', () => {
  const sockets = [line('0200000A:1F90', '0A', 1), line(`${'0'.repeat(32)}:1F90`, '0A', 2)]
  expect(parsePorts(said(sockets))).toEqual([{ port: 8080, address: '::', process: undefined }])
})

test('a socket’s program is the process that has it open, under any name', () => {
  const names = '/proc/1/comm:init\n/proc/7/comm:<b>: /x\n'
  const files =
    '/proc/1/fd:\nlrwx------ 1 root root 64 Jan  1 00:00 3 -> socket:[5]\n/proc/7/fd:\nlrwx------ 1 root root 64 Jan  1 00:00 4 -> socket:[11]\n'
  expect(parsePorts(said([line('0100007F:1F90', '0A', 11)], names, files))).toEqual([
    { port: 8080, address: '127.0.0.1', process: '<b>: /x' },
  ])
})

test('text that is not a list of sockets has no ports', () => {
  for (const text of ['', 'x', '==\n==\n', said(['garbage', '0: ZZ:11 0A'])])
    expect(parsePorts(text)).toEqual([])
})

test('waiting for a port ends with the reason of the client', async () => {
  const gone = new AbortController()
  const list = (): Promise<readonly []> => {
    queueMicrotask(() => gone.abort(new Error('it has disconnected')))
    return Promise.resolve([])
  }
  await expect(waitForPort(3_000, 60_000, list, gone.signal)).rejects.toThrow('it has disconnected')
})
