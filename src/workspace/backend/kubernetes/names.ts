import { nameKey } from '../../name.ts'

/** Labels of every object of this server. */
export const LABEL = {
  server: 'workspace.dev/server',
  name: 'workspace.dev/name',
  /** UID of the workspace's ConfigMap: a later workspace of its name has another. */
  uid: 'workspace.dev/uid',
  /** Set on the volume of a deleted workspace whose files were kept. */
  kept: 'workspace.dev/kept',
  /** Which NetworkPolicy selects a pod: policies add up, so a narrower one must be the only one. */
  policy: 'workspace.dev/policy',
} as const

/** Key of the record in a workspace's ConfigMap. */
export const RECORD_KEY = 'workspace.json'

/** Returns the name of all objects of a workspace; the cluster keeps their kinds apart. */
export function objectName(workspace: string): string {
  return `ws-${nameKey(workspace)}`
}

/** Returns the host name in the certificate of a workspace's agent; a later workspace of its name has another. */
export function agentHost(uid: string): string {
  return `${uid}.workspace.internal`
}

/** Returns the labels of a workspace's objects; uid is unknown for the ConfigMap itself. */
export function labelsOf(
  serverId: string,
  workspace: string,
  uid?: string,
): Readonly<Record<string, string>> {
  return {
    'app.kubernetes.io/managed-by': 'workspace',
    [LABEL.server]: serverId,
    [LABEL.name]: workspace,
    ...(uid !== undefined && { [LABEL.uid]: uid }),
  }
}
