import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/lib/process/package.ts'

/** A promise of SPECIFICATION.md. */
export interface SpecifiedPromise {
  readonly id: string
  readonly text: string
  readonly kind: 'threats' | 'faults'
  /** The heading above its table. */
  readonly section: string
}

/** Promises that another command than vitest proves. */
export const OTHER_PROOFS: ReadonlyMap<string, string> = new Map([['F37', 'npm run test:native']])

/** Reads the promises of SPECIFICATION.md, in their order. */
export function readPromises(): readonly SpecifiedPromise[] {
  const promises: SpecifiedPromise[] = []
  let section = ''
  for (const line of readFileSync(join(packageRoot, 'SPECIFICATION.md'), 'utf8').split('\n')) {
    section = /^##+ (.*)$/.exec(line)?.[1] ?? section
    const [, id, text] = /^\| ([A-Z]\d+) \| (.*) \|$/.exec(line) ?? []
    if (id !== undefined && text !== undefined)
      promises.push({ id, text, section, kind: id.startsWith('F') ? 'faults' : 'threats' })
  }
  return promises
}
