/** A version as semver.org, PEP 440 (Python) and Maven write it. */
export interface Version {
  /** Numbers of the release; missing ones are 0. */
  readonly numbers: readonly bigint[]
  /** Words and numbers after them, such as `rc` and 1; empty for a plain release. */
  readonly parts: readonly Part[]
  readonly isPreRelease: boolean
}

/** A part with its rank: parts of a lower rank are earlier. */
interface Part {
  readonly rank: number
  readonly value: bigint | string
}

/** Development of what precedes, a pre-release, nothing more, what follows a release, and further parts. */
const [UNFINISHED, PRE, END, POST, NUMBER, WORD] = [0, 1, 2, 3, 4, 5] as const
const NOTHING: Part = { rank: END, value: '' }

/** Names of pre-releases, each in the spelling that has their order in ASCII. */
const PRE_NAMES: Readonly<Record<string, string>> = {
  alpha: 'alpha',
  a: 'alpha',
  beta: 'beta',
  b: 'beta',
  milestone: 'milestone',
  m: 'milestone',
  rc: 'rc',
  c: 'rc',
  cr: 'rc',
  pre: 'rc',
  preview: 'rc',
  snapshot: 'snapshot',
}
const POST_NAMES = new Set(['post', 'rev', 'r', 'sp'])
/** Further names of later releases, except where semver.org takes them for pre-releases. */
const SERVICE_NAMES = new Set(['sr', 'p', 'pl', 'patch', 'u'])
const RELEASE_NAMES = new Set(['final', 'ga', 'release', 'lts'])

const VERSION = /^v?(\d+(?:\.\d+)*)((?:[-._a-z\d]*[a-z\d])?)$/i
const PIECE = /([-._]*)(\d+|[a-z]+)/gi
/** Names of commits. */
const COMMIT = /^(?=.*[a-f])[\da-f]{7,40}$/i
/** Numbers after which semantic versions have a hyphen and a pre-release. */
const SEMANTIC_NUMBERS = 3

/** Parses a version; returns undefined for other names, such as `main` and `2.x`. */
export function parseVersion(name: string): Version | undefined {
  const [whole, release = '', rest = ''] = VERSION.exec(name) ?? []
  if (whole === undefined || COMMIT.test(whole)) return undefined
  const numbers = release.split('.').map(BigInt)
  const parts: Part[] = []
  let isNamedRelease = false
  const pieces = [...rest.matchAll(PIECE)]
  for (const [at, [, before = '', text = '']] of pieces.entries()) {
    const word = text.toLowerCase()
    const isNumbered = /^\d/.test(pieces[at + 1]?.[2] ?? '')
    if (RELEASE_NAMES.has(word)) isNamedRelease = true
    else if (parts.length > 0) parts.push(laterPart(word))
    else {
      const isSemantic = before.includes('-') && !isNamedRelease
      const isLetter = before === '' && pieces.length === 1
      const first = firstParts(word, { isSemantic, isNumbered, isLetter, count: numbers.length })
      if (first.length > 0) parts.push(...first)
      else if (isNamedRelease) parts.push({ rank: POST, value: word })
      else return undefined
    }
  }
  const isPreRelease = parts[0]?.rank === PRE || parts.some(({ rank }) => rank === UNFINISHED)
  return { numbers, parts, isPreRelease }
}

/** Returns the parts for the first word or number after the release; none for an unknown word. */
function firstParts(
  word: string,
  how: {
    readonly isSemantic: boolean
    readonly isNumbered: boolean
    /** Whether the word is all that follows the numbers, without a separator. */
    readonly isLetter: boolean
    readonly count: number
  },
): readonly Part[] {
  if (/^\d/.test(word)) {
    // In `1.0.0-1`, semver.org's rule counts; `1.0-1` and `2024-05` are later than `1.0` and `2024` to the others.
    if (how.isSemantic && how.count === SEMANTIC_NUMBERS && !/^0\d/.test(word))
      return [{ rank: PRE, value: BigInt(word) }]
    return [{ rank: POST, value: '' }, laterPart(word)]
  }
  if (word === 'dev') return [{ rank: UNFINISHED, value: '' }]
  // A single letter is an abbreviation only before a number.
  if (word.length > 1 || how.isNumbered) {
    const isService = SERVICE_NAMES.has(word) && !(how.isSemantic && how.count === SEMANTIC_NUMBERS)
    if (POST_NAMES.has(word) || isService) return [{ rank: POST, value: '' }]
    if (Object.hasOwn(PRE_NAMES, word)) return [{ rank: PRE, value: PRE_NAMES[word] ?? word }]
  }
  // A letter alone is a later release, as OpenSSL (after z: za) and the time zone database count them. Python takes
  // three of them for pre-releases, and `2x` names a line of releases.
  if (how.isLetter && /^(?:[a-wyz]|z[a-z])$/.test(word)) {
    const isPre = how.count === 2 && /^[abc]$/.test(word)
    return isPre
      ? [{ rank: PRE, value: PRE_NAMES[word] ?? word }]
      : [{ rank: POST, value: '' }, laterPart(word)]
  }
  return how.isSemantic ? [{ rank: PRE, value: word }] : []
}

function laterPart(word: string): Part {
  if (/^\d/.test(word)) return { rank: NUMBER, value: BigInt(word) }
  if (word === 'dev' || word === 'snapshot') return { rank: UNFINISHED, value: '' }
  if (POST_NAMES.has(word)) return { rank: POST, value: '' }
  return { rank: WORD, value: Object.hasOwn(PRE_NAMES, word) ? (PRE_NAMES[word] ?? word) : word }
}

/** Compares versions, the earlier first: by their numbers, then by their parts. */
export function compareVersions(a: Version, b: Version): number {
  for (let at = 0; at < Math.max(a.numbers.length, b.numbers.length); at++) {
    const order = compareValues(a.numbers[at] ?? 0n, b.numbers[at] ?? 0n)
    if (order !== 0) return order
  }
  for (let at = 0; at < Math.max(a.parts.length, b.parts.length); at++) {
    const [one, other] = [a.parts[at] ?? NOTHING, b.parts[at] ?? NOTHING]
    const order = one.rank - other.rank || compareValues(one.value, other.value)
    if (order !== 0) return order
  }
  return 0
}

/** Compares numbers, which are before words, and words. */
function compareValues(a: bigint | string, b: bigint | string): number {
  if (typeof a !== typeof b) return typeof a === 'bigint' ? -1 : 1
  if (a === b) return 0
  return a < b ? -1 : 1
}
