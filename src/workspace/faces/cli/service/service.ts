/** A program of this package, to be run by a service manager. Paths are absolute. */
export interface Service {
  readonly program: ServiceProgram
  readonly node: string
  /** The program's entry file. */
  readonly entry: string
  readonly config: string | undefined
  readonly directory: string
  /** The service's PATH. */
  readonly path: string
  /** Whether it is installed for the whole machine or for one user. */
  readonly isSystemWide: boolean
}

/** Programs that can be installed as a service. */
export const SERVICE_PROGRAMS = ['workspace', 'supervisor', 'content-server'] as const
/** A program that can run as a service. */
export type ServiceProgram = (typeof SERVICE_PROGRAMS)[number]

/** Returns the command line that runs a program in the foreground. */
export function commandOf({ program, node, entry, config }: Service): readonly string[] {
  const option = config === undefined ? [] : ['--config', config]
  if (program === 'workspace') return [node, entry, 'serve', ...option]
  // In the other programs --config is a global option that precedes the command.
  return [node, entry, ...option, program === 'supervisor' ? 'up' : 'serve']
}
