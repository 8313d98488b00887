import type { WorkspaceConfig } from '../config.ts'
import { fault } from '../errors.ts'
import { parseRepo, type Repo } from '../lifecycle/repo.ts'

/**
 * Validates the dotfiles repository at startup rather than at the first creation.
 *
 * @throws INVALID_REPO_URL when it is not valid
 */
export function dotfilesOf({ dotfiles }: WorkspaceConfig): Repo | undefined {
  if (dotfiles === undefined) return undefined
  const repo = parseRepo(dotfiles)
  if (repo.credentials === undefined) return repo
  throw fault(
    'INVALID_REPO_URL',
    'dotfiles must not contain a user name or password: the config file is not a secret',
  )
}
