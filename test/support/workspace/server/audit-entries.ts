import { readFileSync } from 'node:fs'

/** Reads the entries of an audit file, without their chain. */
export function auditEntries(file: string): any[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const { chain: _, ...entry } = JSON.parse(line) as Record<string, unknown>
      return entry
    })
}
