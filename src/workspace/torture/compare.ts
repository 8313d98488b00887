import type { FindingKind } from './kinds.ts'
import type { ExpectedWorkspace, Ledger, Register } from './ledger.ts'

/** A violation of a promise. */
export interface Finding {
  readonly kind: FindingKind
  readonly what: string
}

/** A workspace as the server shows it. */
export interface ObservedWorkspace {
  readonly name: string
  readonly status: string
  readonly errorMessage?: string | undefined
  readonly labels: Readonly<Record<string, string>>
  /** Undefined for a workspace whose files cannot be read because it is not running. */
  readonly content: ObservedContent | undefined
}

/** The files that a run wrote into a workspace. */
export interface ObservedContent {
  /** Digests by name. */
  readonly digests: ReadonlyMap<string, string>
  readonly lines: readonly string[]
}

/** Compares what a server shows while nothing changes with what it acknowledged. */
export function compare(ledger: Ledger, observed: readonly ObservedWorkspace[]): readonly Finding[] {
  const unknown = observed.filter(({ name }) => ledger.find(name) === undefined)
  return [
    ...unknown.map(({ name }) => finding('orphan', `workspace ${name}, which no client created`)),
    ...ledger.workspaces.flatMap((expected) =>
      compareWorkspace(
        expected,
        observed.filter(({ name }) => name === expected.name),
      ),
    ),
  ]
}

function finding(kind: Finding['kind'], what: string): Finding {
  return { kind, what }
}

function compareWorkspace(
  expected: ExpectedWorkspace,
  [found, ...others]: readonly ObservedWorkspace[],
): readonly Finding[] {
  const subject = `workspace ${expected.name}`
  if (found === undefined)
    return expected.exists.admits(false)
      ? []
      : [finding('lost', `${subject}, whose creation was acknowledged`)]
  if (!expected.exists.admits(true))
    return [finding('lost', `the deletion of ${subject}: it exists again, ${found.status}`)]
  // A creation without an answer may be in any state.
  if (!expected.exists.isSettled) return []
  return [
    ...others.map(() => finding('doubled', `${subject} is listed twice`)),
    ...compareStatus(expected, found),
    ...compareValues(
      expected.labels,
      new Map(Object.entries(found.labels)),
      (key) => `label ${key} of ${subject}`,
    ),
    ...(found.content === undefined ? [] : compareContent(expected, found.content)),
  ]
}

function compareStatus(
  { name, status }: ExpectedWorkspace,
  { status: found, errorMessage }: ObservedWorkspace,
): readonly Finding[] {
  if ((found === 'running' || found === 'stopped') && status.admits(found)) return []
  const why = errorMessage === undefined ? '' : ` (${errorMessage})`
  return [
    finding(
      'lost',
      `the status of workspace ${name}: it is ${found}${why}, not ${status.possible.join(' or ')}`,
    ),
  ]
}

function compareContent(
  expected: ExpectedWorkspace,
  { digests, lines }: ObservedContent,
): readonly Finding[] {
  const { name, appended, mayBeAppended, wasInterrupted } = expected
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  const unknown = [...counts.keys()].filter((line) => !appended.has(line) && !mayBeAppended.has(line))
  return [
    ...compareValues(expected.files, digests, (file) => `file ${file} of workspace ${name}`),
    ...[...digests.keys()]
      .filter((file) => !expected.files.has(file) && !(wasInterrupted && file.startsWith('.')))
      .map((file) => finding('orphan', `file ${file} of workspace ${name}, which no client wrote`)),
    ...[...appended]
      .filter((line) => !counts.has(line))
      .map((line) => finding('lost', `line ${line}, appended by a program in workspace ${name}`)),
    ...[...counts]
      .filter(([, count]) => count > 1)
      .map(([line, count]) => finding('doubled', `line ${line} in workspace ${name}: ${count} times`)),
    ...unknown.map((line) => finding('changed', `a line in workspace ${name}: ${JSON.stringify(line)}`)),
  ]
}

function compareValues(
  expected: ReadonlyMap<string, Register<string | undefined>>,
  found: ReadonlyMap<string, string>,
  subjectOf: (key: string) => string,
): readonly Finding[] {
  return [...expected].flatMap(([key, register]) => {
    const value = found.get(key)
    if (register.admits(value)) return []
    if (value === undefined) return [finding('lost', subjectOf(key))]
    const isRemoved = register.possible.every((possible) => possible === undefined)
    if (isRemoved) return [finding('lost', `the removal of ${subjectOf(key)}`)]
    const possible = register.possible.map((each) => each ?? 'absent').join(' or ')
    return [finding('changed', `${subjectOf(key)}: it is ${value}, not ${possible}`)]
  })
}
