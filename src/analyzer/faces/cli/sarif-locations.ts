import { sep } from 'node:path'
import { listSourceFiles } from '../../project/source-files.ts'
import { sarifFile } from './sarif.ts'

/** A place in code. */
export interface CodePlace {
  /** Class or `class#member`. */
  readonly name: string
  readonly kind: 'type' | 'function' | 'member'
  /** Relative to its source folder; null if it is unknown. */
  readonly sourceFile: string | null
  readonly lineNumber: number | null
}

/** Creates SARIF locations from the source files of a project, by their path below a source folder. */
export class SarifLocations {
  readonly #root: string
  readonly #found = new Map<string, string | undefined>()
  #all: readonly string[] | undefined

  constructor(root: string) {
    this.#root = root
  }

  /** Finds a file by its package and name. */
  find(sourceFile: string | null): string | undefined {
    if (sourceFile === null) return undefined
    if (!this.#found.has(sourceFile)) {
      this.#all ??= listSourceFiles(this.#root).map((file) => file.split(sep).join('/'))
      const found = this.#all.find((file) => `/${file}`.endsWith(`/${sourceFile}`))
      this.#found.set(sourceFile, found)
    }
    return this.#found.get(sourceFile)
  }

  /** Returns a location, in a file if the project has it. */
  of({ name, kind, sourceFile, lineNumber }: CodePlace) {
    const file = this.find(sourceFile)
    return {
      ...(file !== undefined && {
        physicalLocation: {
          artifactLocation: sarifFile(file),
          ...(lineNumber !== null && { region: { startLine: lineNumber } }),
        },
      }),
      logicalLocations: [{ fullyQualifiedName: name, kind }],
    }
  }
}
