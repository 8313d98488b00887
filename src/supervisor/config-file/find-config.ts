import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { findConfigFile } from '../../lib/config/find-file.ts'
import { stateDirOf } from '../state/state-dir.ts'
import { CONFIG_FILES } from './read-config-file.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where the config of a supervisor comes from. Nothing of the file itself is read for it. */
export interface ConfigPlace {
  /** Undefined where there is none. */
  readonly file: string | undefined
  /**
   * Whether nobody named the file: it merely lies in the current folder, which may be anybody's. Such a file is opened with
   * care, and no client of a supervisor opens it at all.
   */
  readonly isFound: boolean
  /** Paths in the file are relative to it. */
  readonly base: string
  /** The user's own directory for this config, whatever `state_dir` the file names: clients look there. */
  readonly recordDir: string
}

export const CONFIG_SOURCES = {
  program: 'supervisor',
  fileName: 'supervisor.yaml',
  fileVariable: 'SUPERVISOR_CONFIG',
} as const

/** Finds the config: by the flag, by SUPERVISOR_CONFIG, in the current folder, in the user's config directory, in /etc. */
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
