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

/** Returns the first line of a fixture that contains a text, counted from 1. */
export function lineIn(file: string, text: string): number {
  const lines = readFileSync(join(packageRoot, 'test/fixtures/java', file), 'utf8').split('\n')
  const at = lines.findIndex((line) => line.includes(text))
  if (at === -1) throw new Error(`no line of ${file} contains "${text}"`)
  return at + 1
}
