import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { childrenOf } from '../../../src/supervisor/process/process-tree.ts'

/** Starts a child, prints its PID, and then starts threads that end at once, until its input ends. */
const THREADS_THAT_END = `
import subprocess, sys, threading
child = subprocess.Popen(['sleep', '600'])
print(child.pid, flush=True)
reader = threading.Thread(target=sys.stdin.read)
reader.start()
while reader.is_alive():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
child.kill()
child.wait()
`
const LOOKS = 2_000

test.runIf(process.platform === 'linux')('children are found while threads of their parent end', async () => {
  const parent = spawn('python3', ['-c', THREADS_THAT_END], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    parent.stdin.end()
    await once(parent, 'close')
  })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const child = Number(line)
  const found = Array.from({ length: LOOKS }, () => childrenOf(parent.pid ?? 0))
  expect(found.filter((children) => !children.includes(child))).toEqual([])
})
