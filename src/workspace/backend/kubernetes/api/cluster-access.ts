import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { messageOf } from '../../../../lib/errors/message.ts'
import { complaint, fits } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { fault } from '../../../errors.ts'

/** Address of a cluster's API server, and the credentials for it. */
export interface ClusterAccess {
  readonly url: string
  readonly ca?: string
  readonly certificate?: string
  readonly key?: string
  /** Returns the bearer token; the cluster replaces the one of a service account every hour. */
  readonly token?: () => Promise<string>
}

/** Directory of a service account's token in a pod. */
const ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount'

const text = Type.Optional(Type.String())
const named = <S extends Parameters<typeof Type.Object>[0]>(key: string, fields: S) =>
  Type.Array(Type.Object({ name: Type.String(), [key]: Type.Object(fields) }))
const kubeconfigSchema = Type.Object({
  'current-context': Type.String(),
  contexts: named('context', { cluster: Type.String(), user: Type.String() }),
  clusters: named('cluster', {
    server: Type.String(),
    'certificate-authority': text,
    'certificate-authority-data': text,
  }),
  users: named('user', {
    token: text,
    tokenFile: text,
    'client-certificate': text,
    'client-certificate-data': text,
    'client-key': text,
    'client-key-data': text,
    exec: Type.Optional(Type.Object({})),
  }),
})

/** A named entry of a kubeconfig. */
type Entries = readonly Readonly<Record<string, unknown>>[]

/**
 * Returns the access that a kubeconfig file describes, or without one that of the pod this server runs in.
 *
 * @throws INVALID_REQUEST when the file cannot be used
 */
export async function clusterAccess(kubeconfig: string | undefined): Promise<ClusterAccess> {
  try {
    return kubeconfig === undefined ? await accessOfPod() : await accessOfFile(kubeconfig)
  } catch (error) {
    const what = kubeconfig === undefined ? 'the service account of this pod' : kubeconfig
    const remedy = kubeconfig === undefined ? '; set kubernetes.kubeconfig' : ''
    throw fault('INVALID_REQUEST', `${what} cannot be used: ${messageOf(error)}${remedy}`, error)
  }
}

async function accessOfPod(): Promise<ClusterAccess> {
  const ca = await readFile(`${ACCOUNT_DIR}/ca.crt`, 'utf8')
  return {
    url: 'https://kubernetes.default.svc',
    ca,
    token: async () => (await readFile(`${ACCOUNT_DIR}/token`, 'utf8')).trim(),
  }
}

async function accessOfFile(file: string): Promise<ClusterAccess> {
  const content: unknown = parse(await readFile(file, 'utf8'))
  if (!fits(kubeconfigSchema, content)) throw new Error(complaint(kubeconfigSchema, content))
  const context = entry(content.contexts, content['current-context'], 'context')
  const cluster = entry(content.clusters, String(context['cluster']), 'cluster')
  const user = entry(content.users, String(context['user']), 'user')
  if (user['exec'] !== undefined)
    throw new Error(
      'its user needs a program to log in, which is not supported; use a token or a certificate',
    )
  const inline = (of: Readonly<Record<string, unknown>>, key: string): Promise<string> | undefined => {
    const data = of[`${key}-data`]
    if (typeof data === 'string') return Promise.resolve(Buffer.from(data, 'base64').toString())
    const path = of[key]
    return typeof path === 'string' ? readFile(resolve(dirname(file), path), 'utf8') : undefined
  }
  const ca = await inline(cluster, 'certificate-authority')
  const certificate = await inline(user, 'client-certificate')
  const key = await inline(user, 'client-key')
  const { token, tokenFile } = user
  return {
    url: String(cluster['server']).replace(/\/$/, ''),
    ...(ca !== undefined && { ca }),
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
    ...(typeof token === 'string' && { token: () => Promise.resolve(token) }),
    ...(typeof tokenFile === 'string' && {
      token: async () => (await readFile(resolve(dirname(file), tokenFile), 'utf8')).trim(),
    }),
  }
}

function entry(entries: Entries, name: string, kind: string): Readonly<Record<string, unknown>> {
  const found = entries.find((each) => each['name'] === name)?.[kind]
  if (found === undefined) throw new Error(`it has no ${kind} "${name}"`)
  return found as Readonly<Record<string, unknown>>
}
