import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../../lib/errors/ignore.ts'
import { POD_AGENT_KEYS } from '../../../lib/guest/protocol.ts'
import { noticeLoss } from '../../../lib/connection/notice-loss.ts'
import { fault } from '../../errors.ts'
import type { GuestReach } from '../microvm/guest/guest-client.ts'
import type { ApiClient } from './api/api-client.ts'
import { podSchema, secretSchema } from './api/objects.ts'
import { SERVER_KEY } from './manifests.ts'
import { agentHost, LABEL, objectName } from './names.ts'
import { progressOf } from './pod-state.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** Time after which a known pod is looked up again. */
const SLOW_MS = 500
/** A network that drops everything reports nothing for up to 15 minutes. */
const PING_MS = 15_000

/** A running pod and the keys of its start. */
interface Reached {
  readonly host: string
  readonly address: string
  readonly podUid: string
  readonly context: SecureContext
}

/** Finds the pods of workspaces and connects to their agents; any process with access to the cluster can. */
export class PodReach {
  readonly #client: ApiClient
  readonly #namespace: string
  readonly #known = new Map<string, Promise<Reached>>()

  constructor(client: ApiClient, namespace: string) {
    this.#client = client
    this.#namespace = namespace
  }

  /** Forgets a pod, because it may have been replaced. */
  forget(name: string): void {
    this.#known.delete(objectName(name))
  }

  readonly reach = async (name: string): Promise<GuestReach> => {
    const known = this.#known.get(objectName(name))
    const reached = await (known ?? this.#read(name))
    return {
      dialGuest: (port) => this.#dial(name, reached, port, known !== undefined),
      environment: {},
      pingMs: PING_MS,
      bootKey: reached.podUid,
    }
  }

  async #dial(name: string, reached: Reached, port: number, wasKnown: boolean): Promise<Duplex> {
    const dialing = dialAgent(reached, port)
    try {
      // The address of a pod that no longer exists does not refuse a connection: it does not answer.
      return await (wasKnown ? Promise.race([dialing, tooLate()]) : dialing)
    } catch (error) {
      this.forget(name)
      if (!wasKnown) throw error
      // Another process may have started the workspace again.
      const fresh = await this.#read(name).catch(ignore('the error of the connection counts', reached))
      if (fresh.podUid === reached.podUid) return dialing
      dialing.then((socket) => socket.destroy(), ignore('the pod of before does not answer'))
      return dialAgent(fresh, port)
    }
  }

  #read(name: string): Promise<Reached> {
    const key = objectName(name)
    const reading = this.#readPod(name)
    this.#known.set(key, reading)
    reading.catch(() => (this.#known.get(key) === reading ? this.#known.delete(key) : undefined))
    return reading
  }

  async #readPod(name: string): Promise<Reached> {
    const at = `/api/v1/namespaces/${this.#namespace}`
    const [pod, secret] = await Promise.all([
      this.#client.find(podSchema, `${at}/pods/${objectName(name)}`),
      this.#client.find(secretSchema, `${at}/secrets/${objectName(name)}`),
    ])
    const uid = pod?.metadata.labels?.[LABEL.uid]
    if (pod === undefined || uid === undefined || !progressOf(pod).isRunning)
      throw fault('WORKSPACE_NOT_RUNNING', `workspace "${name}" has no running pod`)
    const part = (key: string): string => Buffer.from(secret?.data?.[key] ?? '', 'base64').toString()
    const certificate = part(POD_AGENT_KEYS.certificate)
    return {
      host: agentHost(uid),
      address: pod.status?.podIP ?? '',
      podUid: pod.metadata.uid,
      context: createSecureContext({
        ca: certificate,
        cert: part(POD_AGENT_KEYS.client),
        key: part(SERVER_KEY),
        minVersion: 'TLSv1.3',
      }),
    }
  }
}

async function tooLate(): Promise<never> {
  await delay(SLOW_MS, undefined, { ref: false })
  throw new Error('its agent does not respond')
}

/** Connects to an agent, which must have the certificate of this start: pods reuse addresses. */
function dialAgent({ host, address, context }: Reached, port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: address, port, servername: host, secureContext: context })
    const late = setTimeout(() => socket.destroy(new Error('its agent does not respond')), CONNECT_TIMEOUT_MS)
    socket.once('error', reject)
    socket.once('close', () => clearTimeout(late))
    socket.once('secureConnect', () => {
      clearTimeout(late)
      socket.off('error', reject)
      socket.setNoDelay()
      // Not every connection of an agent is a session with pings.
      noticeLoss(socket)
      resolve(socket)
    })
  })
}
