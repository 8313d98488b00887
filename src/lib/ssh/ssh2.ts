// oxlint-disable-next-line no-unassigned-import -- configures ciphers and packet size before ssh2 is loaded
import './ciphers.ts'

export { default } from 'ssh2'
export type * from 'ssh2'
