// oxlint-disable-next-line no-unassigned-import -- settles which ciphers and packets ssh2 accepts, before it is loaded
import './ciphers.ts'

export { default } from 'ssh2'
export type * from 'ssh2'
