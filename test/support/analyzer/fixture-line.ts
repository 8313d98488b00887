import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'

/** Finds lines of a fixture that end with a comment: `lineOf("by record")`, counted from 1. */
export function lineFinder(file: string): (comment: string) => number {
  const lines = readFileSync(join(packageRoot, 'test/fixtures/java', file), 'utf8').split('\n')
  return (comment) => {
    const at = lines.findIndex((text) => text.endsWith(`// ${comment}`))
    if (at === -1) throw new Error(`no line of ${file} ends with "// ${comment}"`)
    return at + 1
  }
}
