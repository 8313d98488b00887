import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FilesInUse } from '../../../src/workspace/disk/files-in-use.ts'
import { canMount } from '../../support/files/file-systems.ts'
import { tempDir } from '../../support/temp-dir.ts'

const SNAPSHOTS = 200

/** Repeats a shell command until the test ends; the last time it runs to its end, so that no loop device is left. */
function repeat(command: string): void {
  const goOn = join(tempDir(), 'go-on')
  writeFileSync(goOn, '')
  const child = spawn('sh', ['-c', `while [ -e ${goOn} ]; do ${command}; done`], {
    stdio: 'ignore',
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` },
  })
  onTestFinished(async () => {
    rmSync(goOn)
    await once(child, 'exit')
  })
}

test.runIf(canMount)(
  'a file is unused while unrelated processes end and loop devices are detached',
  async () => {
    const image = join(tempDir(), 'disk.img')
    const file = join(tempDir(), 'file')
    for (const path of [image, file]) writeFileSync(path, '')
    truncateSync(image, 2 ** 20)
    repeat(`losetup -d "$(losetup -f --show ${image})"`)
    repeat('true & sleep 0.01 & wait')
    const users = []
    for (let i = 0; i < SNAPSHOTS; i++) users.push(await (await FilesInUse.read()).userOf(file))
    expect(new Set(users)).toEqual(new Set(['']))
  },
)
