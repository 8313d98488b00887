// oxlint-disable-next-line no-unassigned-import -- settles which ciphers ssh2 may take, before it is loaded
import './ciphers.ts'

export { default } from 'ssh2'
export type * from 'ssh2'
