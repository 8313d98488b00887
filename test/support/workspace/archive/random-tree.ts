import { Random } from '../../differential/random.ts'

/** Names that a shell, an option parser, a line reader or a tar could take for something else. */
const ODD_NAMES = [
  'plain',
  'a b',
  '-rf',
  '--checkpoint-action=exec=false',
  '$HOME',
  "it's",
  '"quoted"',
  '*',
  '..hidden',
  '.hidden',
  'new\nline',
  'back\\slash',
  'é ü 日本',
  '%s%n',
  'workspace',
  'GNUSparseFile.1',
  'x'.repeat(240),
]

const KINDS = ['file', 'directory', 'symlink', 'hardlink', 'sparse'] as const

/** Returns a shell script that creates a tree of files of all kinds, modes and times; equal seeds give equal trees. */
export function randomTree(root: string, seed: number, count = 60): string {
  const random = new Random(seed)
  const directories = ['.']
  const files: string[] = []
  const create = [`mkdir -p -- ${quoted(root)}`, `cd -- ${quoted(root)}`]
  const modes: string[] = []
  for (let i = 0; i < count; i++) {
    const path = `${random.pick(directories)}/${i}${random.pick(ODD_NAMES)}`
    const name = quoted(path)
    const kind = random.pick(KINDS)
    const mode = random.below(0o10000)
    if (kind === 'directory') {
      directories.push(path)
      create.push(`mkdir -- ${name}`)
      modes.push(`chmod ${((mode & 0o1777) | 0o700).toString(8)} -- ${name}`)
    } else if (kind === 'symlink')
      create.push(
        `ln -s -- ${quoted(random.pick(['/etc/passwd', '../../../..', 'absent', '.', ...files]))} ${name}`,
      )
    else if (kind === 'hardlink' && files.length > 0)
      create.push(`ln -- ${quoted(random.pick(files))} ${name}`)
    else if (kind === 'sparse') create.push(`truncate -s 64M -- ${name}`)
    else {
      files.push(path)
      create.push(`printf %s ${quoted(`${i} `.repeat(random.below(5_000)))} > ${name}`)
      modes.push(`chmod ${((mode & 0o6777) | 0o400).toString(8)} -- ${name}`)
    }
  }
  const time = (): string => {
    const nanoseconds = String(random.below(1e9)).padStart(9, '0')
    return `@${Math.floor((random.next() - 0.1) * 4e9)}.${nanoseconds}`
  }
  // Directories last and the deepest first, because creating a file changes its directory.
  const times = [...files, ...directories.toReversed()].map(
    (path) => `touch -h -d ${time()} -- ${quoted(path)}`,
  )
  return [...create, ...modes, ...times].join('\n')
}

/** A command that prints every file of the current directory with its properties, links and content. */
export const SNAPSHOT_OF_TREE = `{
  find . ! -type d -printf '%p|%y|%m|%T@|%s|%n|%l|%U|%G\\0' | sort -z | tr '\\n\\0' '?\\n'
  find . -type d -printf '%p|%m|%T@|%U|%G\\0' | sort -z | tr '\\n\\0' '?\\n'
  find . -type f -size -32M -print0 | sort -z | xargs -0 -r sha256sum -- | tr '\\n' '~' | tr '~' '\\n'
}`

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
