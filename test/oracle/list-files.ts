import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FileList, ListRule } from '../../src/native/files/list-files.ts'

/** Lists files as `listFiles` does, with node:fs, to compare with it. */
export function listFilesByNode(root: string, { ending, skipped }: ListRule): FileList {
  const files: FileList['files'][number][] = []
  const problems: NodeJS.ErrnoException[] = []
  const attempt = <Result>(read: () => Result): Result | undefined => {
    try {
      return read()
    } catch (error) {
      problems.push(error as NodeJS.ErrnoException)
      return undefined
    }
  }
  const waiting = ['']
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const path = join(root, folder)
    for (const entry of attempt(() => readdirSync(path, { withFileTypes: true })) ?? []) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && name !== skipped) waiting.push(name)
      if (!entry.isFile() || !entry.name.endsWith(ending)) continue
      const stat = attempt(() => lstatSync(join(root, name)))
      if (stat !== undefined) files.push({ name, bytes: stat.size, modifiedMs: stat.mtimeMs })
    }
  }
  const sorted = files
    .map((file) => ({ file, stem: Buffer.from(file.name.slice(0, -ending.length)) }))
    .toSorted((a, b) => Buffer.compare(a.stem, b.stem))
  return { files: sorted.map(({ file }) => file), problems }
}
