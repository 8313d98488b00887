import { createHash } from 'node:crypto'
import { isUser } from '../arguments.ts'
import type { Backend } from '../backend/backend.ts'
import type { BuildFiles, BuildLine, BuildLines, EngineImage, ImageBuilds } from '../backend/image-builds.ts'
import type { Build } from '../devcontainer/build.ts'
import type { Preparation } from '../devcontainer/lifecycle-step.ts'
import { runPreparation } from '../devcontainer/run-preparations.ts'
import { builderLine, type Copy, copyLine, copyOf } from '../dockerfile/builder-line.ts'
import { type Instruction, isContinued, type Stage } from '../dockerfile/read-dockerfile.ts'
import { type RunProgram, runProgram } from '../dockerfile/run-program.ts'
import { splitWords } from '../dockerfile/split-words.ts'
import { WORKSPACE_DIR } from '../workspace.ts'

/** Parts of the creation of a workspace that the build of its image uses. */
export interface BuildContext {
  readonly backend: Backend
  readonly builds: ImageBuilds
  /** The workspace, whose container is that of the build until it is removed. */
  readonly name: string
  /** Directory of the host with its files; '' for its volume. */
  readonly localDir: string
  readonly imageAliases: ReadonlyMap<string, string>
  /** Starts a container of an image as root, with empty directories instead of the workspace's files. */
  readonly open: (image: string, emptyDirs: readonly string[]) => Promise<void>
  readonly progress: (message: string) => void
  /** Variables that programs get beside those of the image, which does not keep them. */
  readonly environment: Readonly<Record<string, string>>
  /** Who can change programs of the build. Others do not get its images, which may be others than they seem. */
  readonly scope: string
  readonly signal: AbortSignal
}

/** Beginning of a stage. */
interface StageStart {
  readonly base: EngineImage
  /** The ARG lines before the first FROM. */
  readonly before: readonly BuildLine[]
  /** Values of ARG that were given. */
  readonly given: ReadonlyMap<string, string>
  /** Upper bound for the length of the values of `before` and `given`. */
  readonly longest: number
  /** Returns the image of a stage or another one by its name. */
  readonly imageOf: (name: string) => Promise<EngineImage>
}

/** Length up to which an instruction is shown. */
const MAX_SHOWN = 60
/**
 * Length of a line with the values of its variables: values that refer to others can double with each line, and builders
 * need the square of the time for a word.
 */
const MAX_EXPANDED = 32 * 1024
/** The same for all lines of a stage. */
const MAX_LENGTH = 2 ** 20
/** Arguments that every RUN has if they are given. Source: https://docs.docker.com/reference/dockerfile/#predefined-args */
const PREDEFINED = new Set(['http_proxy', 'https_proxy', 'ftp_proxy', 'no_proxy', 'all_proxy'])
/** Beginning of the names of arguments that pass on the values of others. */
const VALUE = 'WORKSPACE_BUILD_VALUE_'
const CHANGES_VALUES = /^(?:ARG|ENV|WORKDIR|USER) /
/** A word of COPY with variables, and without a character that ends a text in quotes. */
const WITH_VARIABLES = /^[\w./*?[\]^${}:+,@%~-]+$/
const ARGUMENT = /^[A-Za-z_]\w*(?:=.*)?$/s

/** Builds the image of a stage. */
export class StageBuild {
  readonly #build: Build
  readonly #start: StageStart
  readonly #context: BuildContext
  /** Result of the instructions so far, apart from the lines that wait. */
  #image: EngineImage
  #waiting: BuildLine[] = []
  /** Files for the lines that wait, if one copies any. */
  #files: BuildFiles | undefined
  /** The arguments of the lines that do not wait; undefined for those without a value. */
  #arguments: ReadonlyMap<string, string | undefined> = new Map()
  /** Upper bound for the length of the value of a variable. */
  #longest: number
  /** Upper bound for the length of all lines with the values of their variables. */
  #length = 0

  constructor(build: Build, start: StageStart, context: BuildContext) {
    this.#build = build
    this.#start = start
    this.#context = context
    this.#image = start.base
    this.#longest = this.#lengthOfValues()
  }

  async build({ instructions }: Stage): Promise<EngineImage> {
    try {
      for (const each of instructions) {
        if (each.name === 'RUN') await this.#run(each)
        else await this.#add(each)
      }
      // The image that it begins with belongs to others.
      if (this.#waiting.length > 0 || this.#image === this.#start.base) await this.#flush()
      return this.#image
    } finally {
      // Until now nothing else could delete it.
      await this.#context.builds.release(this.#image)
    }
  }

  async #add(instruction: Instruction): Promise<void> {
    const { name, line } = instruction
    const { dockerfile } = this.#build
    if (name === 'ARG') {
      for (const each of argumentLines(instruction, dockerfile.escape)) await this.#wait(each)
      return
    }
    const copy = copyOf(instruction, dockerfile.escape)
    if (copy?.from !== undefined) return this.#copyFrom(copy, copy.from, line)
    const text = copy === undefined ? builderLine(instruction, dockerfile.escape) : copyLine(copy, copy.words)
    if (text === undefined) return
    if (copy !== undefined && this.#files !== undefined && this.#files.mode !== copy.mode) await this.#flush()
    await this.#wait({ text, line })
    const { name: workspace, localDir } = this.#context
    if (copy !== undefined) this.#files = { ...this.#build, name: workspace, localDir, mode: copy.mode }
  }

  async #copyFrom(copy: Copy, from: string, line: number): Promise<void> {
    const { builds } = this.#context
    const { id } = await this.#start.imageOf(from)
    if (this.#waiting.length > 0) await this.#flush()
    const target = copy.words.at(-1) ?? ''
    for (const source of await this.#valuesOf(copy.words.slice(0, -1), line)) {
      const title = `line ${line}: ${source} of ${from}`
      const extract = await builds.extract(id, source, title, this.#context)
      try {
        await this.#wait({ text: copyLine(copy, [extract.word, target], extract.id), line })
        await this.#flush()
      } finally {
        await builds.discard(extract)
      }
    }
  }

  /** Returns the values of words. */
  async #valuesOf(words: readonly string[], line: number): Promise<readonly string[]> {
    const refused = words.find(
      (word) => /["'\\`]/.test(word) || (word.includes('$') && !WITH_VARIABLES.test(word)),
    )
    if (refused !== undefined)
      throw new Error(`line ${line}: COPY --from of ${refused.slice(0, 80)} is not supported`)
    if (!words.some((word) => word.includes('$'))) return words
    boundOf([{ text: words.join(' '), line }], this.#longest)
    const quoted = words.map((word) => `"${word}"`)
    return this.#context.builds.evaluate(this.#linesWith(this.#arguments, []), quoted, this.#context)
  }

  /** Adds a line to those that wait for the engine's builder. */
  async #wait(line: BuildLine): Promise<void> {
    // When the others do not wait, the values are known.
    if (lengthOf(line, this.#longest) > MAX_EXPANDED && this.#waiting.length > 0) await this.#flush()
    const length = lengthOf(line, this.#longest)
    this.#length += length
    if (this.#length > MAX_LENGTH) throw new Error('its lines are longer than 1 MiB with their variables')
    this.#longest = boundOf([line], this.#longest)
    if (isArgument(line)) this.#longest = Math.max(this.#longest, this.#start.longest)
    this.#waiting.push(line)
  }

  /** Has the engine's builder follow the lines that wait. */
  async #flush(): Promise<void> {
    const [waiting, files] = [this.#waiting, this.#files]
    this.#waiting = []
    this.#files = undefined
    const { builds, progress } = this.#context
    progress(`building the image: ${waiting.at(-1)?.text.slice(0, MAX_SHOWN) ?? 'FROM'}`)
    const needsValues = waiting.some(({ text }) => text.includes('$'))
    const lines = this.#linesWith(needsValues ? this.#arguments : new Map(), waiting)
    const image = await builds.make(lines, files, this.#context)
    const declared = waiting.filter(isArgument)
    if (declared.length > 0) await this.#learn(lines, declared)
    this.#image = image
    this.#longest = this.#lengthOfValues()
  }

  /** Returns lines behind those that pass on known arguments. */
  #linesWith(known: ReadonlyMap<string, string | undefined>, waiting: readonly BuildLine[]): BuildLines {
    const { lines, values } = passedOn(known, waiting)
    return {
      base: this.#image.id,
      before: this.#start.before,
      lines: [...lines, ...waiting],
      escape: this.#build.dockerfile.escape,
      arguments: new Map([...this.#start.given, ...values]),
    }
  }

  /** Learns the values of the arguments that lines declare. */
  async #learn(lines: BuildLines, declared: readonly BuildLine[]): Promise<void> {
    const { before, given } = this.#start
    const { builds } = this.#context
    const names = [...new Set(declared.map(argumentOf))]
    const settings = lines.lines.filter(({ text }) => !/^(?:COPY|ADD) /.test(text))
    const words = names.map((name) => `"\${${name}}"`)
    const values = await builds.evaluate({ ...lines, lines: settings }, words, this.#context)
    const hasValue = (name: string): boolean => {
      const last = declared.findLast((line) => argumentOf(line) === name)
      const isSet = (line: BuildLine): boolean => line.text.startsWith(`ARG ${name}=`)
      return given.has(name) || [...(last === undefined ? [] : [last]), ...before].some(isSet)
    }
    const learnt = names.map((name, at) => [name, hasValue(name) ? values[at] : undefined] as const)
    this.#arguments = new Map([...this.#arguments, ...learnt])
  }

  #lengthOfValues(): number {
    const { environment, directory, user } = this.#image
    const values = [...Object.values(environment), directory, user, ...this.#arguments.values()]
    return Math.max(...values.map((value) => value?.length ?? 0))
  }

  async #run(instruction: Instruction): Promise<void> {
    if (this.#waiting.length > 0) await this.#flush()
    const { builds, scope } = this.#context
    const { id, environment, user, directory, shell } = this.#image
    const program = runProgram(instruction, shell, directory)
    const variables = Object.fromEntries(
      [...this.#predefined(), ...this.#arguments].flatMap(([name, value]) =>
        value === undefined || Object.hasOwn(environment, name) ? [] : [[name, value]],
      ),
    )
    const key = keyOf([scope, id, program, variables, user, directory])
    this.#image =
      (await builds.findCommitted(key, this.#image)) ??
      (await this.#runAndCommit(instruction, { program, variables, key }))
  }

  #predefined(): readonly (readonly [string, string])[] {
    return [...this.#start.given].filter(([name]) => PREDEFINED.has(name.toLowerCase()))
  }

  async #runAndCommit(
    { text, line }: Instruction,
    run: {
      readonly program: RunProgram
      readonly variables: Readonly<Record<string, string>>
      readonly key: string
    },
  ): Promise<EngineImage> {
    const { argv, mounts } = run.program
    const { name, builds, environment, signal } = this.#context
    const { user, directory } = this.#image
    // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
    const title = `line ${line}: RUN ${text.slice(0, MAX_SHOWN).replaceAll(/[\0-\x1f\x7f-\x9f]/g, ' ')}`
    return inContainer(
      this.#image,
      mounts.map(({ path }) => path),
      this.#context,
      async (perform) => {
        for (const { path, owner, mode } of mounts) {
          await perform({ name: title, argv: ['chown', owner, path], user: '0', directory: '/' })
          await perform({ name: title, argv: ['chmod', mode, path], user: '0', directory: '/' })
        }
        await perform({
          name: title,
          argv,
          directory: directory === '' ? '/' : directory,
          user: userOf(user),
          environment: { ...environment, ...run.variables },
        })
        return builds.commit(name, this.#image, run.key, signal)
      },
    )
  }
}

/** Checks that a workspace can be made of an image: that it has its user, a shell and `sleep`. @throws Error with a sentence */
export async function checkImage(image: EngineImage, context: BuildContext): Promise<void> {
  await inContainer(image, [WORKSPACE_DIR], context, (perform) => {
    const argv = ['/bin/sh', '-c', 'true']
    return perform({ name: 'a first program of the image', argv, user: userOf(image.user) })
  })
}

/** Runs work in a container of an image. `perform` runs a program, and throws an error with a sentence if that fails. */
async function inContainer<T>(
  { id }: EngineImage,
  emptyDirs: readonly string[],
  { backend, name, open, progress, signal }: BuildContext,
  work: (perform: (program: Preparation) => Promise<void>) => Promise<T>,
): Promise<T> {
  try {
    await open(id, emptyDirs)
    return await work(async (program) => {
      const why = await runPreparation(backend, name, program, { progress, signal })
      signal.throwIfAborted()
      if (why !== undefined) throw new Error(`${program.name} ${why}`)
    })
  } finally {
    await backend.remove(name, true)
  }
}

function userOf(user: string): string {
  if (user === '') return '0'
  const name = user.replace(/:$/, '')
  if (name.split(':').every(isUser)) return name
  throw new Error(`USER ${user.slice(0, 80)} is not the name or number of a user`)
}

/** Returns what identifies an image that is made of parts. */
export function keyOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)
}

/** Returns a line for each argument that an ARG declares. */
export function argumentLines(instruction: Instruction, escape: string): readonly BuildLine[] {
  const { line } = instruction
  const text = builderLine(instruction, escape) ?? ''
  return splitWords(text.slice('ARG '.length), escape).map((word) => {
    if (!ARGUMENT.test(word) || word.startsWith(VALUE) || isContinued(word, escape))
      throw new Error(`line ${line}: ARG ${word.slice(0, 40)} is not the name of an argument`)
    return { text: `ARG ${word}`, line }
  })
}

/** Returns an upper bound for the length of values after lines. @throws Error for one that is too long */
export function boundOf(lines: readonly BuildLine[], longest: number): number {
  return lines.reduce((bound, each) => {
    const length = lengthOf(each, bound)
    if (length > MAX_EXPANDED) throw new Error(`line ${each.line}: it is too long with its variables`)
    return CHANGES_VALUES.test(each.text) ? Math.max(bound, length) : bound
  }, longest)
}

/** Returns an upper bound for the length of a line with the values of its variables. */
function lengthOf({ text }: BuildLine, longest: number): number {
  return text.length + (text.split('$').length - 1) * longest
}

function isArgument({ text }: BuildLine): boolean {
  return text.startsWith('ARG ')
}

function argumentOf({ text }: BuildLine): string {
  return text.slice('ARG '.length).split('=', 1)[0] ?? ''
}

/** Returns lines that declare known arguments before other lines, and the values that must be given for that. */
function passedOn(
  known: ReadonlyMap<string, string | undefined>,
  others: readonly BuildLine[],
): { readonly lines: readonly BuildLine[]; readonly values: readonly (readonly [string, string])[] } {
  const declared = new Set(others.filter(isArgument).map(argumentOf))
  const all = [...known].flatMap(([name, value], at) =>
    // A value that is given would count for the other declaration as well.
    value === undefined ? [] : [{ name, value, variable: declared.has(name) ? `${VALUE}${at}` : name }],
  )
  const renamed = all.filter(({ name, variable }) => variable !== name)
  const texts = [
    all.map(({ variable }) => variable),
    renamed.map(({ name, variable }) => `${name}="\${${variable}}"`),
  ]
  return {
    lines: texts
      .filter((words) => words.length > 0)
      .map((words) => ({ text: `ARG ${words.join(' ')}`, line: undefined })),
    values: all.map(({ variable, value }) => [variable, value] as const),
  }
}
