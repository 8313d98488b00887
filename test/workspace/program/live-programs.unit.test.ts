import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Backend, ExecProcess, ExitStatus } from '../../../src/workspace/backend/backend.ts'
import { WorkspaceTable } from '../../../src/workspace/lifecycle/table.ts'
import { LivePrograms, type ProgramFollower } from '../../../src/workspace/program/live-programs.ts'

/** A backend whose only program does what the test does. */
function fakeProgram() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const exit = Promise.withResolvers<ExitStatus>()
  const signals: string[] = []
  const process: ExecProcess = {
    stdin,
    stdout,
    stderr,
    exitStatus: exit.promise,
    resize: () => undefined,
    signal: (name) => Promise.resolve(signals.push(name) > 0),
    hangUp: () => Promise.resolve(void signals.push('hangUp')),
  }
  const login = { user: 'u', userId: 1, home: '/', shell: '/bin/sh' }
  const backend = {
    exec: () => Promise.resolve(process),
    loginEnvironment: () => Promise.resolve(login),
  } as unknown as Backend
  return { backend, stdin, stdout, signals, end: () => exit.resolve({ status: 0 }) }
}

const REQUEST = {
  command: ['true'],
  directory: undefined,
  environment: {},
  user: undefined,
  tag: 'tagged',
  readsInput: true,
  timeoutMs: undefined,
} as const

const reader = (onOutput: ProgramFollower['onOutput'] = () => undefined): ProgramFollower => ({
  onOutput,
  onEnd: () => undefined,
})

test('a reader without room holds the program up until it has room or leaves', async () => {
  const programs = new LivePrograms(new WorkspaceTable())
  const { backend, stdout } = fakeProgram()
  const room = Promise.withResolvers<void>()
  const got: string[] = []
  const slow = reader((_name, chunk) => {
    got.push(chunk.toString())
    return room.promise
  })
  await programs.start(backend, 'demo', REQUEST, () => slow)
  stdout.write('one')
  await expect.poll(() => got).toEqual(['one'])
  stdout.write('two')
  expect(stdout.isPaused()).toBe(true)
  programs.unfollow('demo', 1, slow)
  room.resolve()
  await expect.poll(() => stdout.readableLength).toBe(0)
  expect(got).toEqual(['one'])
})

test('all readers receive the output after they came, and the end', async () => {
  const programs = new LivePrograms(new WorkspaceTable())
  const { backend, stdout, end } = fakeProgram()
  const events: string[] = []
  const named = (name: string): ProgramFollower => ({
    onOutput: (_stream, chunk) => void events.push(`${name} ${chunk.toString()}`),
    onEnd: ({ status }) => void events.push(`${name} ended ${status}`),
  })
  await programs.start(backend, 'demo', REQUEST, () => named('first'))
  stdout.write('one')
  await expect.poll(() => events).toEqual(['first one'])
  programs.follow('demo', programs.get('demo', { by: 'tag', tag: 'tagged' }).id, named('second'))
  stdout.end('two')
  end()
  const expected = ['first one', 'first two', 'second two', 'first ended 0', 'second ended 0']
  await expect.poll(() => events).toEqual(expected)
  expect(programs.list('demo')).toEqual([])
})

test('input is passed on unless the program reads none', async () => {
  const programs = new LivePrograms(new WorkspaceTable())
  const { backend, stdin } = fakeProgram()
  await programs.start(backend, 'demo', REQUEST, () => reader())
  await programs.write('demo', { by: 'id', id: 1 }, Buffer.from('a'))
  expect(String(stdin.read())).toBe('a')
  const deaf = fakeProgram()
  await programs.start(deaf.backend, 'demo', { ...REQUEST, readsInput: false }, () => reader())
  await expect(programs.write('demo', { by: 'id', id: 2 }, Buffer.from('a'))).rejects.toMatchObject({
    code: 'PROCESS_ENDED',
  })
})

test('the end of the server hangs programs up', async () => {
  const programs = new LivePrograms(new WorkspaceTable())
  const { backend, signals } = fakeProgram()
  await programs.start(backend, 'demo', REQUEST, () => reader())
  await programs.close()
  expect(signals).toEqual(['hangUp'])
})

test('a program is killed when its time is up', async () => {
  const programs = new LivePrograms(new WorkspaceTable())
  const { backend, signals, end } = fakeProgram()
  const ended = Promise.withResolvers<boolean>()
  await programs.start(backend, 'demo', { ...REQUEST, timeoutMs: 1 }, () => ({
    ...reader(),
    onEnd: ({ hasTimedOut }) => ended.resolve(hasTimedOut),
  }))
  await expect.poll(() => signals).toEqual(['SIGKILL'])
  end()
  expect(await ended.promise).toBe(true)
})
