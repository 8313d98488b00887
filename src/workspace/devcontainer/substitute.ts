import { createHash } from 'node:crypto'
import { basename } from 'node:path'

/**
 * Replaces one reference `${name:argument:…}`; undefined leaves it as it is. `reference` is its text.
 */
type Resolve = (name: string, args: readonly string[], reference: string) => string | undefined

/**
 * Replaces the references in every text of a value, but not in the names of its properties. Linear in the
 * text's length, unlike the regular expression `\$\{(.*?)\}`, which finds the same references.
 */
export function substitute(value: unknown, resolve: Resolve): unknown {
  if (typeof value === 'string') return substituteText(value, resolve)
  if (Array.isArray(value)) return value.map((each: unknown) => substitute(each, resolve))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, substitute(each, resolve)]))
}

/** References beyond this length of a result stay as they are: a short text can refer to a long one very often. */
const MAX_RESULT_LENGTH = 131_072

/** Replaces the references in a text. */
export function substituteText(text: string, resolve: Resolve): string {
  let result = ''
  let rest = 0
  let end = -1
  let lineEnd = -1
  for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', Math.max(at + 1, rest))) {
    if (end < at + 2) end = text.indexOf('}', at + 2)
    if (end === -1 || result.length > MAX_RESULT_LENGTH) break
    if (lineEnd < at) lineEnd = endOfLine(text, at)
    if (lineEnd < end) continue
    const reference = text.slice(at, end + 1)
    const [name = '', ...args] = reference.slice(2, -1).split(':')
    result += text.slice(rest, at) + (resolve(name, args, reference) ?? reference)
    rest = end + 1
  }
  return result + text.slice(rest)
}

function endOfLine(text: string, from: number): number {
  const found = /[\n\r\u2028\u2029]/g
  found.lastIndex = from
  return found.exec(text)?.index ?? text.length
}

/**
 * Resolves references that do not depend on the container. The local folder is the one inside, too, because
 * programs cannot see the host's path. The server's environment is never exposed (threat W12): its variables
 * resolve to their default, or to nothing, and `onHidden` is called.
 */
export function localReferences(
  folders: { readonly local: string; readonly container: string },
  onHidden: (reference: string) => void,
): Resolve {
  return (name, args, reference) => {
    switch (name) {
      case 'env':
      case 'localEnv': {
        if (args.length === 0) return undefined
        onHidden(reference)
        return args[1] ?? ''
      }
      case 'localWorkspaceFolder':
        return folders.local
      case 'containerWorkspaceFolder':
        return folders.container
      case 'localWorkspaceFolderBasename':
        return basename(folders.local)
      case 'containerWorkspaceFolderBasename':
        return basename(folders.container)
      default:
        return undefined
    }
  }
}

/**
 * Resolves `${containerEnv:NAME:default}`. A missing variable without a default resolves to nothing, as in a
 * shell; `onMissing` is called for each missing one.
 */
export function containerReferences(
  environment: Readonly<Record<string, string>>,
  onMissing: (name: string) => void = () => undefined,
): Resolve {
  return (name, args) => {
    const [variable, otherwise = ''] = args
    if (name !== 'containerEnv' || variable === undefined) return undefined
    if (Object.hasOwn(environment, variable)) return environment[variable]
    onMissing(variable)
    return otherwise
  }
}

/**
 * Returns the value of `${devcontainerId}`, which is the same whenever the container is created again. The
 * official CLI computes it from these labels of a container.
 */
export function devContainerId(labels: Readonly<Record<string, string>>): string {
  const sorted = Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  const hash = createHash('sha256').update(JSON.stringify(sorted)).digest('hex')
  return BigInt(`0x${hash}`).toString(32).padStart(52, '0')
}
