import { type Instruction, isContinued } from './read-dockerfile.ts'

/** Instructions that the engine's builder follows without running a program or using a network. */
const PASSED = new Set(['ARG', 'ENV', 'SHELL', 'USER', 'WORKDIR'])
/** Instructions that change nothing for a workspace, whose container runs none of the image's own programs. */
const WITHOUT_EFFECT = new Set([
  'CMD',
  'ENTRYPOINT',
  'EXPOSE',
  'HEALTHCHECK',
  'LABEL',
  'MAINTAINER',
  'STOPSIGNAL',
  'VOLUME',
])
/** Builders read options byte by byte, and a byte of another character can be a space to them. */
const OWNER = /^[\w.:${}-]*$/
/** White space either to this program or to builders, but not to both. */
const AMBIGUOUS = /[\u0085\uFEFF]/
/** Characters by which a source of ADD could be an address, or become one. */
const SPECIAL = /[$:"'`\\]|^github\.com\//

/** A COPY or ADD. */
export interface Copy {
  readonly name: string
  /** Name of the image or stage to copy from; undefined for the context. */
  readonly from: string | undefined
  /** Permission bits; undefined for those of the files. */
  readonly mode: number | undefined
  /** User and group; '' for root. */
  readonly owner: string
  /** Sources and target, in which variables may be named. */
  readonly words: readonly string[]
}

/** Reads a COPY or ADD; undefined for another instruction. @throws Error with a sentence for what is not supported */
export function copyOf(instruction: Instruction, escape: string): Copy | undefined {
  const { name, flags, text, line } = instruction
  if (name !== 'COPY' && name !== 'ADD') return undefined
  checkText(instruction, escape)
  const refuse = (why: string): never => refuseLine(line, why)
  const known = ['chown', 'chmod', 'link', ...(name === 'COPY' ? ['from'] : [])]
  const other = flags.find(([flag]) => !known.includes(flag))
  if (other !== undefined || text.startsWith('--'))
    return refuse(`${name} --${other?.[0] ?? text.slice(2, 40)} is not supported`)
  const valueOf = (flag: string): string | undefined => flags.findLast(([each]) => each === flag)?.[1]
  const [from, chmod, owner = ''] = [valueOf('from'), valueOf('chmod'), valueOf('chown')]
  if (chmod !== undefined && (from !== undefined || !/^[0-7]{3,4}$/.test(chmod)))
    return refuse(`${name} --chmod is supported with a number and without --from`)
  if (!OWNER.test(owner)) return refuse(`${name} --chown=${owner.slice(0, 40)} is not supported`)
  const words = listOf(text) ?? text.split(/[\t\v\f\r ]+/)
  if (words.length < 2) return refuse(`${name} needs a source and a target`)
  if (words.some((word) => word.startsWith('<<') || word.includes('\0')))
    return refuse(`${name} of a here-document is not supported; use RUN`)
  const address = name === 'ADD' ? words.slice(0, -1).find((word) => SPECIAL.test(word)) : undefined
  if (address !== undefined)
    return refuse(`ADD of ${address.slice(0, 80)} is not supported; use COPY, or RUN with curl`)
  return { name, from, mode: chmod === undefined ? undefined : Number.parseInt(chmod, 8), owner, words }
}

/**
 * Returns the line by which the engine's builder copies files. It has a list, so that the builder does nothing else: ADD
 * would reach addresses from the host, and COPY the images of others.
 *
 * @param from identifier of the image to copy from; undefined for the context
 */
export function copyLine({ name, owner }: Copy, words: readonly string[], from?: string): string {
  const options = [owner === '' ? '' : `--chown=${owner} `, from === undefined ? '' : `--from=${from} `]
  return `${name} ${options.join('')}${JSON.stringify(words)}`
}

/**
 * Returns the line by which the engine's builder follows another instruction; undefined if nothing is to be done. Its first
 * word is the instruction, so that the builder follows no other: RUN would have neither the network nor the limits of
 * workspaces.
 *
 * @throws Error with a sentence for an instruction that is not supported
 */
export function builderLine(instruction: Instruction, escape: string): string | undefined {
  const { name, flags, text, line } = instruction
  if (WITHOUT_EFFECT.has(name)) return undefined
  if (!PASSED.has(name))
    return refuseLine(
      line,
      `${name.slice(0, 40)} ${name === 'ONBUILD' ? 'is not supported' : 'is not an instruction'}`,
    )
  checkText(instruction, escape)
  const [flag] = flags
  if (flag !== undefined || text.startsWith('--'))
    return refuseLine(line, `${name} --${flag?.[0] ?? text.slice(2, 40)} is not supported`)
  return `${name} ${text}`
}

/** @throws Error for a text that builders could read in another way */
function checkText({ name, text, line }: Instruction, escape: string): void {
  if (text === '' || /[\0\r\n]/.test(text) || AMBIGUOUS.test(text) || isContinued(text, escape))
    refuseLine(line, `${name} has no text, or a character that is not supported`)
}

function refuseLine(line: number, why: string): never {
  throw new Error(`line ${line}: ${why}`)
}

/** Returns a list of texts in JSON; undefined for other text, which is then for a shell. */
export function listOf(text: string): readonly string[] | undefined {
  if (!text.startsWith('[')) return undefined
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.every((each) => typeof each === 'string') ? list : undefined
  } catch {
    // As builders do, it is taken for other text.
    return undefined
  }
}
