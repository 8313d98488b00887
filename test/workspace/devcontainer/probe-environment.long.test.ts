import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DevContainer } from '../../../src/workspace/devcontainer/dev-container.ts'
import { probeEnvironment } from '../../../src/workspace/devcontainer/probe-environment.ts'
import {
  docker,
  dockerBackend,
  removeLeftovers,
  TEST_IMAGE,
  uniqueName,
} from '../../support/engine/docker.ts'
import { waitFor } from '../../support/wait-for.ts'
import { backendCreate } from '../../support/workspace/backend/backend-create.ts'

const name = uniqueName('probe')
const backend = dockerBackend()
const { signal } = new AbortController()
const NO_ENVIRONMENT = { why: 'its shell printed no environment' }
/** Enough for a busy machine, and less than a test waits. */
const PATIENCE_MS = 60_000

beforeAll(async () => {
  await backend.open(() => undefined)
  await backend.create(backendCreate(name, TEST_IMAGE), () => undefined, signal)
})
afterAll(async () => {
  await removeLeftovers(name)
  await backend.close()
})

async function probe(
  profile: string,
  kind: DevContainer['userEnvProbe'] = 'loginInteractiveShell',
  timeoutMs = PATIENCE_MS,
) {
  await docker('exec', `ws-${name}`, 'sh', '-c', 'printf "%s\\n" "$1" > ~/.bash_profile', 'sh', profile)
  return probeEnvironment(backend, name, kind, signal, timeoutMs)
}
const running = (marker: string) => docker('exec', `ws-${name}`, 'sh', '-c', `pgrep -fc "${marker}" || true`)

test.each([
  ['prints', 'echo noise; export KIT=1; printf more'],
  ['prints a fake environment', 'printf "PATH=/evil\\0KIT=fake\\0"; export KIT=1'],
  ['prints when the shell exits', 'export KIT=1; trap "printf KIT=fake" EXIT'],
  ['reads standard input', 'export KIT=1; read line; cat'],
  ['traces its commands', 'set -xv; export KIT=1'],
  ['leaves a program behind', 'export KIT=1; sleep 1111 &'],
  ['leaves a program behind that prints without end', 'export KIT=1; (sleep 1; exec yes yes2222) &'],
  ['closes standard error', 'exec 2>&-; export KIT=1'],
  ['exports a function', 'f() { echo f; }; export -f f; export KIT=1'],
])('a profile that %s', async (_what, profile) => {
  expect(await probe(profile)).toMatchObject({
    environment: { KIT: '1', PATH: expect.stringMatching(/^\/usr\/local\/sbin:/) },
  })
})

test.each([
  ['exits', 'exit 3', NO_ENVIRONMENT],
  ['becomes another program', 'exec true', NO_ENVIRONMENT],
  ['closes standard output', 'exec >/dev/null', NO_ENVIRONMENT],
  ['unsets PATH', 'export PATH=', NO_ENVIRONMENT],
  ['prints without end', 'yes yes3333', { why: 'it printed more than 1 MiB' }],
  ['prints one line without end', 'cat /dev/zero', { why: 'it printed more than 1 MiB' }],
  [
    'exports very much',
    'for i in 1 2 3 4; do export "BIG$i=$(head -c 100000 /dev/zero | tr "\\0" x)"; done',
    { why: 'its environment has more than 256 KiB' },
  ],
])('a profile that %s gives no environment', async (_what, profile, expected) => {
  expect(await probe(profile)).toEqual(expected)
})

test.each([
  ['hangs', 'sleep 4444', 'sleep 4444'],
  ['hangs and ignores signals', 'trap "" HUP TERM INT; sleep 5555', 'sleep 5555'],
])('a profile that %s is stopped', async (_what, profile, marker) => {
  expect(await probe(profile, 'loginShell', 2_000)).toEqual({ why: 'it took longer than 2 seconds' })
  await waitFor('the end of the program', async () => (await running(`^${marker}`)) === '0')
})

test('each kind of shell reads its files', async () => {
  await docker('exec', `ws-${name}`, 'sh', '-c', 'echo "export RC=1" > ~/.bashrc')
  const kitAndRc = async (kind: DevContainer['userEnvProbe']) => {
    const probed = await probe('export KIT=1', kind)
    return 'environment' in probed ? [probed.environment['KIT'], probed.environment['RC']] : probed
  }
  expect(await kitAndRc('loginShell')).toEqual(['1', undefined])
  expect(await kitAndRc('interactiveShell')).toEqual([undefined, '1'])
  expect(await kitAndRc('loginInteractiveShell')).toEqual(['1', undefined])
  expect(await kitAndRc('none')).toEqual([undefined, undefined])
})
