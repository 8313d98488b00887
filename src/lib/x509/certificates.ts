import { randomBytes } from 'node:crypto'
import {
  BasicConstraintsExtension,
  type ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  SubjectAlternativeNameExtension,
} from './x509.ts'

/** Keys of all certificates: P-256. */
export const KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const
/** Algorithm of all signatures. */
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const
/** Milliseconds of a day. */
export const DAY_MS = 86_400_000
/** Clocks of other machines may be behind. */
const BACKDATED_MS = 2 * DAY_MS

/** Returns a serial number, and when a certificate is valid. */
export function issuance(lifetimeMs: number, nowMs: number) {
  return {
    serialNumber: randomBytes(16).toString('hex'),
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(nowMs + lifetimeMs),
    signingAlgorithm: SIGNATURE,
  }
}

/** Returns the name of a host's certificate. Clients read the alternative name; a common name has at most 64 characters. */
export function hostName(host: string) {
  return [{ CN: [host.slice(0, 64)] }]
}

/** Returns the extensions of a certificate for a host that issues no others. */
export function hostExtensions(host: string, usage: ExtendedKeyUsage): readonly Extension[] {
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new ExtendedKeyUsageExtension([usage]),
    new SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
  ]
}
