import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MachineFiles } from '../../../../../src/workspace/backend/microvm/files/machine-files.ts'
import type { Metadata } from '../../../../../src/workspace/backend/microvm/files/metadata.ts'
import { tempDir } from '../../../../support/temp-dir.ts'
import { MACHINE_METADATA } from '../../../../support/workspace/machine/machine-metadata.ts'

const METADATA: Metadata = { ...MACHINE_METADATA, name: 'Old', upperBytes: 1_000_000 }

const STEPS = ['write', 'removeInstance'] as const

/** Files of a server that is killed before or after one of the steps of a rename. */
class KilledFiles extends MachineFiles {
  #left: number

  constructor(root: string, stepsToDo: number) {
    super(root)
    this.#left = stepsToDo
  }

  override async write(metadata: Metadata): Promise<void> {
    this.#step()
    await super.write(metadata)
    this.#step()
  }

  override async removeInstance(name: string): Promise<void> {
    this.#step()
    await super.removeInstance(name)
    this.#step()
  }

  #step(): void {
    if (this.#left-- === 0) throw new Error('killed')
  }
}

async function createMachine(): Promise<string> {
  const root = tempDir()
  const files = new MachineFiles(root)
  await files.begin('Old')
  await files.write(METADATA)
  await files.makeUpper('Old', 1_000_000)
  writeFileSync(files.upperOf('Old'), 'all files')
  writeFileSync(files.consoleOf('Old'), 'console')
  await files.end('Old')
  return root
}

/** Before and after each of the steps; the first is repeated at the end. */
const KILLS = Array.from({ length: 2 * (STEPS.length + 1) }, (_, step) => step)

test.each(KILLS)(
  'a server that is killed at step %d of a rename leaves one name with all files',
  async (step) => {
    const root = await createMachine()
    await expect(new KilledFiles(root, step).rename(METADATA, 'new')).rejects.toThrow('killed')
    const next = new MachineFiles(root)
    // A directory without metadata is not a workspace.
    const listed = (await next.list()).filter(({ reading }) => reading.is !== 'absent')
    expect(listed.length).toBe(1)
    for (const { reading } of listed) {
      if (reading.is !== 'valid') throw new Error('unreadable')
      // Twice: the next server can be killed as well.
      if (reading.record.renamedFrom !== undefined)
        await new KilledFiles(root, step % 4).finishRename(reading.record).catch(() => undefined)
      const again = await next.get(reading.record.name)
      const { name, renamedFrom } = await next.finishRename(again)
      expect(name).toBe(step === 0 ? 'Old' : 'new')
      expect(renamedFrom).toBeUndefined()
      expect(await next.get(name)).toEqual({ ...METADATA, name })
      const other = name === 'new' ? 'Old' : 'new'
      expect([(await next.read(other)).is, await next.hasUpper(other)]).toEqual(['absent', false])
      expect(readFileSync(next.upperOf(name), 'utf8')).toBe('all files')
      expect(readFileSync(next.consoleOf(name), 'utf8')).toBe('console')
    }
  },
)

test.each([
  ['instances', 'metadata.json'],
  ['uppers', 'upper.ext4'],
  ['uppers', 'anything'],
])('a rename never replaces existing files in %s: %s', async (folder, file) => {
  const root = await createMachine()
  mkdirSync(join(root, folder, 'new'))
  writeFileSync(join(root, folder, 'new', file), 'kept')
  const files = new MachineFiles(root)
  await expect(files.rename(METADATA, 'new')).rejects.toMatchObject({ code: 'WORKSPACE_ALREADY_EXISTS' })
  expect(readFileSync(join(root, folder, 'new', file), 'utf8')).toBe('kept')
  expect(await files.get('Old')).toEqual(METADATA)
  expect(readFileSync(files.upperOf('Old'), 'utf8')).toBe('all files')
})

test('a rename can change the case alone', async () => {
  const root = await createMachine()
  const files = new MachineFiles(root)
  await files.rename(METADATA, 'OLD')
  expect(await files.get('old')).toEqual({ ...METADATA, name: 'OLD' })
  expect(readFileSync(files.upperOf('old'), 'utf8')).toBe('all files')
})
