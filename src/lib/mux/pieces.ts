const JOINED_BYTES = 1024

/** Adds a chunk of an incomplete message. Small chunks are joined: thousands of single bytes must not hold a buffer each. */
export function addPiece(pieces: Buffer[], piece: Buffer): void {
  const last = pieces.at(-1)
  if (last !== undefined && last.length + piece.length <= JOINED_BYTES)
    pieces[pieces.length - 1] = Buffer.concat([last, piece])
  else pieces.push(piece)
}
