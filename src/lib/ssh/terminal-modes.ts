import { patchSsh2 } from './patch-ssh2.ts'

/** Values of a client's terminal by opcode. Source: RFC 4254, section 8. */
export type TerminalModes = ReadonlyMap<number, number>

const END = 0
/** From here on, the length of a value is not defined. */
const FIRST_UNDEFINED = 160
const VALUE_BYTES = 4

/**
 * Makes ssh2's server pass on the terminal modes of a `pty-req` as {@link TerminalModes}. It reads them from the second byte on,
 * so that it finds none, and closes the connection at an opcode that it does not know.
 */
export function passTerminalModes(): void {
  const found = '            bufferParser.init(modesBinary, 1);\n'
  const passed = 'data = { term, cols, rows, width, height, modes: readTerminalModes(modesBinary) }; break;\n'
  patchSsh2('ssh2/lib/protocol/handlers.misc.js', found, passed, { readTerminalModes })
}

/** Reads encoded terminal modes, as far as they can be read. */
export function readTerminalModes(encoded: Buffer): TerminalModes {
  const modes = new Map<number, number>()
  for (let at = 0; at + VALUE_BYTES < encoded.length; at += 1 + VALUE_BYTES) {
    const opcode = encoded.readUInt8(at)
    if (opcode === END || opcode >= FIRST_UNDEFINED) break
    modes.set(opcode, encoded.readUInt32BE(at + 1))
  }
  return modes
}
