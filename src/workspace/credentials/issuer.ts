import type { AssumeRole } from './assume-role.ts'
import { type CacheOptions, CredentialCache } from './credential-cache.ts'
import { credentialFault, type Credentials } from './credentials.ts'
import type { CloudSettings } from './settings.ts'

/** Issues each workspace the credentials of its role, which only the configuration determines (threat C1). */
export class CredentialIssuer {
  readonly #settings: CloudSettings
  readonly #cache: CredentialCache

  constructor(
    settings: CloudSettings,
    assumeRole: AssumeRole,
    tools: Pick<CacheOptions, 'logger' | 'clock'>,
  ) {
    this.#settings = settings
    this.#cache = new CredentialCache({
      ...settings,
      ...tools,
      fetch: (workspace) => assumeRole(this.#roleOf(workspace), workspace),
    })
  }

  /**
   * Returns a workspace's credentials.
   *
   * @throws NO_ROLE when it has no role
   * @throws ASSUME_ROLE_FAILED when STS refuses or fails
   */
  async issue(workspace: string): Promise<Credentials> {
    this.#roleOf(workspace)
    return this.#cache.get(workspace)
  }

  #roleOf(workspace: string): string {
    const role = this.#settings.roleOf(workspace)
    if (role !== undefined) return role
    throw credentialFault(
      'NO_ROLE',
      `workspace "${workspace}" has no role: set cloud.workspaces.${workspace}.role or cloud.default_role`,
    )
  }
}
