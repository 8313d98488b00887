import { readFileSync } from 'node:fs'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'
import { parseOsv } from './osv-targets.ts'

interface Targets {
  readonly names: readonly string[]
  /** Vulnerabilities of each name. */
  readonly ids: readonly (readonly string[])[]
  /** Messages about vulnerabilities without targets. */
  readonly skipped: readonly string[]
}

/**
 * Reads the targets of `reach` from its options: names, files with one per line, and OSV records.
 *
 * @throws BAD_REQUEST for a file that cannot be read
 */
export function readTargets({
  to = [],
  toFile = [],
  osv = [],
}: {
  readonly to?: readonly string[]
  readonly toFile?: readonly string[]
  readonly osv?: readonly string[]
}): Targets {
  const listed = [
    ...to.flatMap((text) => text.split(',')),
    ...toFile.flatMap((path) =>
      read(path)
        .split('\n')
        .map((line) => line.trim()),
    ),
  ].filter((name) => name !== '' && !name.startsWith('//'))
  const vulnerabilities = osv.flatMap((path) => parseOsv(read(path), path))
  const names = [...new Set([...listed, ...vulnerabilities.flatMap(({ targets }) => targets)])]
  return {
    names,
    ids: names.map((name) =>
      vulnerabilities.filter(({ targets }) => targets.includes(name)).map(({ id }) => id),
    ),
    skipped: vulnerabilities
      .filter(({ targets }) => targets.length === 0)
      .map(({ id }) => `${id} lists no methods of a Maven package; nothing is searched for it`),
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw fault('BAD_REQUEST', `${path} cannot be read: ${messageOf(error)}`, error)
  }
}
