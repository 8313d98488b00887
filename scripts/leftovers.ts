// Finds what a suite left behind, for scripts/steps/suites.sh:
//   node scripts/leftovers.ts objects                         prints the containers, mounts and so on of this machine
//   node scripts/leftovers.ts after TMPDIR SECONDS [OBJECTS]  prints a line for each leftover, ends processes, removes TMPDIR
// What disappears within SECONDS, such as the mount of a container that was removed last, is none. The suite ran with TMPDIR
// in its environment, which marks its processes. Nothing marks a container or a mount: what the file OBJECTS, the output
// from before the suite, does not name was left behind.
import { globSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findProcesses } from './suites/marked-processes.ts'
import { listObjects } from './suites/objects.ts'

/** Limit for the ends of killed processes. */
const END_MS = 15_000
const POLL_MS = 100

/** npm's cache, which it uses in its next run. */
const CACHE = 'node-compile-cache'

/** Calls `find` until it returns an empty list, at most for `ms`. */
async function settled<T>(
  ms: number,
  find: () => Promise<readonly T[]> | readonly T[],
): Promise<readonly T[]> {
  const until = performance.now() + ms
  for (;;) {
    const found = await find()
    if (found.length === 0 || performance.now() > until) return found
    await delay(POLL_MS)
  }
}

async function findLeftovers(directory: string, before?: ReadonlySet<string>): Promise<readonly string[]> {
  const objects = before === undefined ? [] : await listObjects()
  return [
    ...findProcesses(directory).map(({ description }) => description),
    ...objects.filter((line) => before?.has(line) === false),
    ...readdirSync(directory)
      .filter((name) => name !== CACHE)
      .map((name) => describeFile(join(directory, name))),
  ]
}

/** Names a file or a directory with the first of its entries, because a name such as workspace-test-a1b2c3 does not identify its test. */
function describeFile(path: string): string {
  const entries = globSync('**', { cwd: path }).slice(1, 6)
  return `file ${[path, ...entries].join(' ')}`
}

async function endProcesses(mark: string): Promise<void> {
  await settled(END_MS, () => {
    const found = findProcesses(mark)
    for (const { pid } of found) kill(pid)
    return found
  })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // It has ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const [what, directory = '', seconds = '', objectsFile] = process.argv.slice(2)
if (what === 'objects') {
  for (const line of await listObjects()) console.log(line)
} else if (what === 'after' && seconds !== '') {
  const before =
    objectsFile === undefined ? undefined : new Set(readFileSync(objectsFile, 'utf8').split('\n'))
  const leftovers = await settled(Number(seconds) * 1_000, () => findLeftovers(directory, before))
  for (const line of leftovers) console.log(line)
  await endProcesses(directory)
  // Removing would reach through a mount.
  if (!leftovers.some((line) => line.startsWith(`mount ${directory}`)))
    rmSync(directory, { recursive: true, force: true })
} else {
  console.error('usage: node scripts/leftovers.ts objects | after TMPDIR SECONDS [OBJECTS]')
  process.exit(2)
}
