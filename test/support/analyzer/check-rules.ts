import type { rulesOf } from '../../../src/analyzer/query/rules/rules.ts'
import type { TestAnalyzer } from './analyzer-server.ts'

type RulesAnswer = Awaited<ReturnType<typeof rulesOf>>

/** Returns status and body of a check of rules. */
export async function postRules(
  { url, token }: TestAnalyzer,
  body: object,
): Promise<{ readonly status: number; readonly body: any }> {
  const response = await fetch(`${url}/api/v1/rules`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

/** Returns the answer of a successful check of rules. */
export async function checkRules(
  analyzer: TestAnalyzer,
  rules: readonly object[],
  options: object = {},
): Promise<RulesAnswer> {
  const { status, body } = await postRules(analyzer, { rules: { rules }, size: 10_000, ...options })
  if (status !== 200) throw new Error(`the check responded with ${status}: ${JSON.stringify(body)}`)
  return body as RulesAnswer
}
