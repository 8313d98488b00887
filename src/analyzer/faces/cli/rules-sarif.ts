import type { Rule } from '../../query/rules/rule-set.ts'
import type { Violation } from '../../query/rules/violation.ts'
import { sarifLog } from './sarif.ts'
import { SarifLocations } from './sarif-locations.ts'

/** Renders violations: all rules with their reasons, and one result for each violation. */
export function rulesSarif(root: string, rules: readonly Rule[], violations: readonly Violation[]): string {
  const locations = new SarifLocations(root)
  const described = rules.map(({ id, reason, severity = 'error' }) => ({
    id,
    shortDescription: { text: reason },
    defaultConfiguration: { level: severity },
  }))
  const results = violations.map((violation) => {
    const { ruleId, severity, reason, classFqn, member, descriptor, sourceFile, lineNumber, key } = violation
    const name = member === null ? classFqn : `${classFqn}#${member}`
    const kind = member === null ? 'type' : descriptor === null ? 'member' : 'function'
    return {
      ruleId,
      level: severity,
      message: { text: `${violation.message}. ${reason}` },
      locations: [locations.of({ name, kind, sourceFile, lineNumber })],
      baselineState: violation.isFrozen ? 'unchanged' : 'new',
      partialFingerprints: { 'violation/v1': key },
    }
  })
  return sarifLog(described, results)
}
