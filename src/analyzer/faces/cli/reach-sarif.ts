import type { ReachStep } from '../../query/reach/reach-step.ts'
import type { TargetView } from '../../query/reach/reach.ts'
import { sarifLog } from './sarif.ts'
import { SarifLocations } from './sarif-locations.ts'

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
  const files = new SarifLocations(root)
  const results = targets.flatMap((target, at) => {
    const rules = ids[at] ?? []
    if (target.status !== 'reachable') return []
    return (rules.length === 0 ? [RULE] : rules).map((rule) => resultOf(files, target, rule))
  })
  return sarifLog(
    [...new Set(results.map(({ ruleId }) => ruleId))].map((id) => ({ id })),
    results,
  )
}

function resultOf(files: SarifLocations, { target, root, steps }: TargetView, ruleId: string) {
  const last = steps.findLast((step) => files.find(step.sourceFile) !== undefined) ?? steps.at(-1)
  const start = `${root?.classFqn} (${root?.kind}: ${root?.reason})`
  return {
    ruleId,
    level: 'error',
    message: { text: `${target} is reachable from ${start} in ${steps.length} steps` },
    locations: last === undefined ? [{ logicalLocations: [methodAt(target)] }] : [locationOf(files, last)],
    ...(steps.length > 0 && {
      codeFlows: [
        {
          threadFlows: [
            {
              locations: steps.map((step) => ({
                location: {
                  ...locationOf(files, step),
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

function locationOf(
  locations: SarifLocations,
  { classFqn, classSource, methodName, sourceFile, lineNumber }: ReachStep,
) {
  return locations.of({
    name: `${classFqn}#${methodName}`,
    kind: 'function',
    sourceFile: classSource === 'PROJECT' ? sourceFile : null,
    lineNumber,
  })
}
