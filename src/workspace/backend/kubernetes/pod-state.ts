import type { WorkspaceState } from '../../workspace.ts'
import type { Claim, ContainerStatus, Pod } from './api/objects.ts'
import { CONTAINER } from './manifests.ts'

/** Reasons after which waiting does not help. `ErrImagePull` is tried again, and becomes `ImagePullBackOff`. */
const HOPELESS = new Set([
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'CrashLoopBackOff',
])

/** A starting pod: what it waits for, and whether that can still happen. */
export interface PodProgress {
  readonly isRunning: boolean
  /** In words; '' for nothing to report. */
  readonly waitsFor: string
  readonly isHopeless: boolean
}

/** Returns the state of a workspace from its pod. @param isWanted whether it should have one */
export function stateOf(pod: Pod | undefined, isWanted: boolean): WorkspaceState {
  if (pod === undefined) {
    return isWanted
      ? { is: 'error', message: 'its pod was deleted by the cluster or another client; start it again' }
      : { is: 'stopped' }
  }
  if (pod.metadata.deletionTimestamp !== undefined) return { is: 'stopped' }
  const { isRunning, waitsFor } = progressOf(pod)
  // Also when it should not: a server was killed while it stopped the workspace.
  if (isRunning) return { is: 'running' }
  if (!isWanted) return { is: 'stopped' }
  const { phase, reason, message } = pod.status ?? {}
  if (phase === 'Failed') return { is: 'error', message: described('its pod failed', reason, message) }
  return waitsFor === '' ? { is: 'starting' } : { is: 'error', message: waitsFor }
}

/** Returns what a pod waits for. */
export function progressOf({ status }: Pod): PodProgress {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  const main = all.find(({ name }) => name === CONTAINER)
  if (main?.state?.running !== undefined && (status?.podIP ?? '') !== '')
    return { isRunning: true, waitsFor: '', isHopeless: false }
  if (status?.phase === 'Failed') {
    const waitsFor = described('its pod failed', status.reason, status.message)
    return { isRunning: false, waitsFor, isHopeless: true }
  }
  for (const each of all) {
    const problem = problemOf(each)
    if (problem !== undefined) return { isRunning: false, ...problem }
  }
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') {
    const waitsFor = described('no node can run its pod', scheduled.reason, scheduled.message)
    return { isRunning: false, waitsFor, isHopeless: false }
  }
  return { isRunning: false, waitsFor: '', isHopeless: false }
}

/** Returns why a volume is not bound; undefined when it is, or nothing is known. */
export function whyUnbound(claim: Claim | undefined): string | undefined {
  if (claim === undefined) return 'its volume no longer exists'
  return claim.status?.phase === 'Pending' ? 'its volume is not bound yet' : undefined
}

function problemOf({
  name,
  state,
}: ContainerStatus): { readonly waitsFor: string; readonly isHopeless: boolean } | undefined {
  const { waiting, terminated } = state ?? {}
  if (terminated !== undefined && terminated.exitCode !== 0) {
    const what = `container ${name} exited with status ${terminated.exitCode ?? 'unknown'}`
    return { waitsFor: described(what, terminated.reason, terminated.message), isHopeless: false }
  }
  const reason = waiting?.reason ?? ''
  if (waiting === undefined || reason === 'PodInitializing' || reason === 'ContainerCreating')
    return undefined
  return {
    waitsFor: described(`container ${name} waits`, reason, waiting.message),
    isHopeless: HOPELESS.has(reason),
  }
}

function described(what: string, reason = '', message = ''): string {
  return [reason === '' ? what : `${what} (${reason})`, message].filter(Boolean).join(': ')
}
