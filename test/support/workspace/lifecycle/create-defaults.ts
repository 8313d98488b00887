import type { CreateDefaults } from '../../../../src/workspace/lifecycle/create-request.ts'

/** Settings for creations whose tests do not depend on them: containers that reach everything beyond the host. */
export const CREATE_DEFAULTS: Omit<CreateDefaults, 'getSnapshot'> = {
  backend: 'docker',
  image: 'any:1',
  imageAliases: new Map(),
  templates: new Map(),
  dotfiles: undefined,
  forbiddenDirs: [],
  reachOf: () => ({ isIsolated: true, policy: { allowHostPorts: [], egress: 'open' }, egressProfiles: [] }),
}
