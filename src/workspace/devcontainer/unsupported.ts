/**
 * Properties that change what a workspace is and that are not honored, and why or what there is in their place; '' where
 * there is nothing to add. Properties that no one knows, and those that only editors use, are left alone.
 * Source: https://containers.dev/implementors/json_reference/
 */
const UNSUPPORTED: ReadonlyMap<string, string> = new Map([
  ['build', 'build the image yourself and name it as image'],
  ['dockerFile', 'build the image yourself and name it as image'],
  ['context', ''],
  ['dockerComposeFile', ''],
  ['service', ''],
  ['runServices', ''],
  ['features', 'put them into the image'],
  ['overrideFeatureInstallOrder', ''],
  ['initializeCommand', 'nothing of a workspace runs on the host'],
  ['remoteUser', "programs run as the image's user"],
  ['containerUser', "programs run as the image's user"],
  ['updateRemoteUserUID', ''],
  ['mounts', 'local_dir is the one directory that is mounted'],
  ['workspaceMount', 'files are in /workspace'],
  ['runArgs', ''],
  ['appPort', 'name the port in forwardPorts'],
  ['portsAttributes', ''],
  ['otherPortsAttributes', ''],
  ['capAdd', "rights of a workspace are the server's to give"],
  ['securityOpt', "rights of a workspace are the server's to give"],
  ['privileged', "rights of a workspace are the server's to give"],
  ['overrideCommand', 'a workspace always runs an init of its own'],
  ['shutdownAction', ''],
  ['waitFor', ''],
  ['userEnvProbe', ''],
  ['hostRequirements', 'cpus and memory_mb of the request are its limits'],
  ['secrets', ''],
])

/** Reports each property that is not honored, as a sentence. */
export function noteUnsupported(
  content: Readonly<Record<string, unknown>>,
  workspaceDir: string,
): readonly string[] {
  const notes = Object.keys(content).flatMap((key) => {
    const why = UNSUPPORTED.get(key)
    if (why === undefined) return []
    return [`${key} is not honored${why === '' ? '' : `: ${why}`}`]
  })
  const { workspaceFolder } = content
  if (workspaceFolder !== undefined && workspaceFolder !== workspaceDir)
    notes.push(`workspaceFolder is not honored: files are in ${workspaceDir}`)
  return notes
}
