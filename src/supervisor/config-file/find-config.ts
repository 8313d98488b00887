import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { findConfigFile } from '../../lib/config/find-file.ts'
import { stateDirOf } from '../state/state-dir.ts'
import { CONFIG_FILES } from './read-config-file.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Location of a supervisor's configuration, found without reading the file. */
export interface ConfigPlace {
  /** Path of the file; undefined if there is none. */
  readonly file: string | undefined
  /**
   * Whether the file was found in the current folder, which may be untrusted, instead of being named. Such a file is opened with
   * checks, and clients never open it.
   */
  readonly isFound: boolean
  /** Directory that paths in the file are relative to. */
  readonly base: string
  /** The user's own directory for this configuration, where clients look; independent of the file's `state_dir`. */
  readonly recordDir: string
}

/** Names by which the configuration file is found. */
export const CONFIG_SOURCES = {
  program: 'supervisor',
  fileName: 'supervisor.yaml',
  fileVariable: 'SUPERVISOR_CONFIG',
} as const

/** Finds the configuration: the flag's, SUPERVISOR_CONFIG's, in the current folder, in the user's configuration directory, in /etc. */
export function findSupervisorConfig(
  environment: Environment,
  { file: flag, cwd = process.cwd() }: { readonly file?: string | undefined; readonly cwd?: string } = {},
): ConfigPlace {
  const named = flag ?? environment['SUPERVISOR_CONFIG']
  const inFolder =
    named === undefined ? CONFIG_FILES.map((name) => join(cwd, name)).find(existsSync) : undefined
  const path = inFolder ?? findConfigFile({ ...CONFIG_SOURCES, environment, file: flag })
  const file = path === undefined ? undefined : resolve(cwd, path)
  const base = file === undefined ? cwd : dirname(file)
  const own = environment['SUPERVISOR_STATE_DIR']
  const home = environment['HOME'] ?? homedir()
  return {
    file,
    isFound: inFolder !== undefined,
    base,
    recordDir:
      own === undefined ? stateDirOf(home, file ?? join(cwd, 'supervisor.yaml')) : resolve(base, own),
  }
}
