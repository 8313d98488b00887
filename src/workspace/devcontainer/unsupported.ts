/**
 * Properties that change the workspace and are not supported, with the reason or an alternative, if any.
 * Unknown properties and those that only editors use are ignored. Source:
 * https://containers.dev/implementors/json_reference/
 */
const UNSUPPORTED: ReadonlyMap<string, string> = new Map([
  ['dockerComposeFile', ''],
  ['service', ''],
  ['runServices', ''],
  ['overrideFeatureInstallOrder', ''],
  ['initializeCommand', 'workspaces cannot run commands on the host'],
  ['updateRemoteUserUID', ''],
  ['runArgs', ''],
  ['appPort', 'add the port to forwardPorts'],
  ['portsAttributes', ''],
  ['otherPortsAttributes', ''],
  ['capAdd', 'the server determines the privileges of workspaces'],
  ['securityOpt', 'the server determines the privileges of workspaces'],
  ['privileged', 'the server determines the privileges of workspaces'],
  ['overrideCommand', 'a workspace always runs its own init'],
  ['shutdownAction', ''],
  ['waitFor', ''],
  ['hostRequirements', 'use cpus and memory_mb of the request'],
  ['secrets', ''],
])

/** Returns one sentence for each property that is not supported. */
export function noteUnsupported(content: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(content).flatMap((key) => {
    const why = UNSUPPORTED.get(key)
    if (why === undefined) return []
    return [`${key} is not supported${why === '' ? '' : `: ${why}`}`]
  })
}
