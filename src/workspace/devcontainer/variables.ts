import { type Findings, kindOf, pathOf, refuseMore, textOf } from './findings.ts'
import { substituteText } from './substitute.ts'

/** Every program gets each variable. */
const MAX_VARIABLES = 512
/** Linux's limit for one variable (MAX_ARG_STRLEN, less the terminating NUL). */
export const MAX_VARIABLE_BYTES = 131_071

/**
 * Reads `containerEnv` or `remoteEnv` as the official CLI does: numbers, booleans, null and lists become texts,
 * any name is accepted, and a list or a text has variables named 0, 1 and so on.
 */
export function variablesOf(key: string, value: unknown, findings: Findings): Record<string, string> {
  if (value === undefined) return {}
  const { invalid } = findings
  const isIndexed = Array.isArray(value) || typeof value === 'string'
  if (isIndexed && value.length > 0)
    invalid.push(`${key} is ${kindOf(value)}, not an object; its variables are named 0, 1 and so on`)
  else if (isIndexed || typeof value !== 'object' || value === null)
    invalid.push(`${key} is ${kindOf(value)}, not an object, and is ignored`)
  const entries = Object.entries(Object(value) as Readonly<Record<string, unknown>>)
  refuseMore(key, 'variables', entries.length, MAX_VARIABLES)
  const result: Record<string, string> = {}
  for (const [written, each] of entries) {
    const path = pathOf(key, written)
    const text = textOf(each)
    // A program sees what follows the first "=" as the value.
    const [name = '', ...more] = written.split('=')
    const whole = [...more, text].join('=')
    if (text === undefined) invalid.push(`${path} is ${kindOf(each)}, not a text, and is ignored`)
    else if (name === '') invalid.push(`${key} has a variable without a name, which is ignored`)
    else if (`${name}${whole}`.includes('\0')) invalid.push(`${path} contains a NUL byte and is ignored`)
    else if (Buffer.byteLength(`${name}=${whole}`) > MAX_VARIABLE_BYTES)
      invalid.push(`${path} is longer than ${MAX_VARIABLE_BYTES} bytes and is ignored`)
    else {
      if (each === null) invalid.push(`${path} is null, which becomes the text "null"`)
      if (hasUnknownReference(whole, key))
        findings.notes.push(`${path} contains an unknown reference, which is kept as it is`)
      result[name] = whole
    }
  }
  return result
}

/** Whether something remains to resolve that nothing will resolve. */
function hasUnknownReference(text: string, key: string): boolean {
  let isFound = false
  substituteText(text, (name, args) => {
    const isResolvedLater =
      name === 'devcontainerId' || (key === 'remoteEnv' && name === 'containerEnv' && args.length > 0)
    if (!isResolvedLater) isFound = true
    return undefined
  })
  return isFound
}
