import { execFile, execFileSync, fork, spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'
import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { SUFFIXES } from '../../vitest.config.ts'

test.each<readonly [string, () => unknown]>([
  ['spawn', () => spawn('true')],
  ['spawnSync', () => spawnSync('true')],
  ['execFile', () => execFile('true')],
  ['execFileSync', () => execFileSync('true')],
  ['fork', () => fork('true')],
  ['a server', () => createServer().listen(0)],
  ['an HTTP server', () => createHttpServer().listen(0)],
  ['a connection', () => connect(9, '127.0.0.1')],
  ['a datagram socket', () => createSocket('udp4').bind(0)],
])('a unit test cannot start %s', (_what, start) => {
  expect(start).toThrow('take ".unit" out of the name of its file')
})

test('the suffix of each test is one of a project', () => {
  const suffixes = globSync('test/**/*.*.test.ts', { cwd: packageRoot, exclude: ['test/fixtures'] }).map(
    (path) => path.split('.').at(-3),
  )
  expect(new Set(suffixes)).toEqual(new Set(SUFFIXES))
})
