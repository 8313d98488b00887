/** A program of this package as a service manager is to run it. Paths are absolute. */
export interface Service {
  readonly program: ServiceProgram
  readonly node: string
  /** The program's entry. */
  readonly entry: string
  readonly config: string | undefined
  readonly directory: string
  /** Whose PATH its own programs are looked up in. */
  readonly path: string
  /** For the whole machine, or for one user. */
  readonly isOfMachine: boolean
}

export const SERVICE_PROGRAMS = ['workspace', 'supervisor', 'content-server'] as const
export type ServiceProgram = (typeof SERVICE_PROGRAMS)[number]

/** The command line that runs a program in the foreground. */
export function commandOf({ program, node, entry, config }: Service): readonly string[] {
  const option = config === undefined ? [] : ['--config', config]
  if (program === 'workspace') return [node, entry, 'serve', ...option]
  // Of the others it is an option of every command, and stands before it.
  return [node, entry, ...option, program === 'supervisor' ? 'up' : 'serve']
}
