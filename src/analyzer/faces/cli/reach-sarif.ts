import { sep } from 'node:path'
import { listSourceFiles } from '../../project/source-files.ts'
import type { ReachStep } from '../../query/reach/reach-step.ts'
import type { TargetView } from '../../query/reach/reach.ts'
import { sarifFile, sarifLog } from './sarif.ts'

const RULE = 'reachable-method'

/**
 * Renders the reachable targets: one result for each rule, at the last step in the project's source, with the
 * path as a code flow.
 *
 * @param ids vulnerabilities of each target
 */
export function reachSarif(
  root: string,
  targets: readonly TargetView[],
  ids: readonly (readonly string[])[],
): string {
  const files = new SourceFiles(root)
  const results = targets.flatMap((target, at) => {
    const rules = ids[at] ?? []
    if (target.status !== 'reachable') return []
    return (rules.length === 0 ? [RULE] : rules).map((rule) => resultOf(files, target, rule))
  })
  return sarifLog(new Set(results.map(({ ruleId }) => ruleId)), results)
}

function resultOf(files: SourceFiles, { target, root, steps }: TargetView, ruleId: string) {
  const last = steps.findLast((step) => files.find(step.sourceFile) !== undefined) ?? steps.at(-1)
  const start = `${root?.classFqn} (${root?.kind}: ${root?.reason})`
  return {
    ruleId,
    level: 'error',
    message: { text: `${target} is reachable from ${start} in ${steps.length} steps` },
    locations: last === undefined ? [{ logicalLocations: [methodAt(target)] }] : [files.locationOf(last)],
    ...(steps.length > 0 && {
      codeFlows: [
        {
          threadFlows: [
            {
              locations: steps.map((step) => ({
                location: {
                  ...files.locationOf(step),
                  message: { text: `${step.calleeFqn}#${step.calleeName}: ${step.reason}` },
                },
              })),
            },
          ],
        },
      ],
    }),
  }
}

function methodAt(fullyQualifiedName: string) {
  return { fullyQualifiedName, kind: 'function' }
}

/** Source files of a project by their path below a source folder. */
class SourceFiles {
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

  locationOf({ classFqn, classSource, methodName, sourceFile, lineNumber }: ReachStep) {
    const file = classSource === 'PROJECT' ? this.find(sourceFile) : undefined
    return {
      ...(file !== undefined && {
        physicalLocation: {
          artifactLocation: sarifFile(file),
          ...(lineNumber !== null && { region: { startLine: lineNumber } }),
        },
      }),
      logicalLocations: [methodAt(`${classFqn}#${methodName}`)],
    }
  }
}
