const CONTROL_KEYS = '@abcdefghijklmnopqrstuvwxyz[\\]^_'

/** Parses keys such as `ctrl-p,ctrl-q` or `ctrl-],x` into the bytes they send; undefined if they are not valid. */
export function parseDetachKeys(text: string): Buffer | undefined {
  const bytes = text.split(',').map((key) => {
    const [, control] = /^ctrl-(.)$/i.exec(key) ?? []
    const at = control === undefined ? -1 : CONTROL_KEYS.indexOf(control.toLowerCase())
    if (at >= 0) return at
    return /^[ -~]$/.test(key) ? key.charCodeAt(0) : -1
  })
  return bytes.includes(-1) ? undefined : Buffer.from(bytes)
}

/** Input to send, and whether the user wants to detach afterwards. */
interface Typed {
  readonly input: Buffer
  readonly isDetach: boolean
}

/** Finds the keys that detach in what a user types. Keys that may be their beginning are held back until the next one. */
export class DetachKeys {
  readonly #keys: Buffer
  #matched = 0

  constructor(keys: Buffer) {
    this.#keys = keys
  }

  read(bytes: Buffer): Typed {
    const input: number[] = []
    for (const byte of bytes) {
      if (byte !== this.#keys[this.#matched]) {
        input.push(...this.#keys.subarray(0, this.#matched))
        this.#matched = 0
      }
      if (byte === this.#keys[this.#matched]) this.#matched++
      else input.push(byte)
      if (this.#matched === this.#keys.length) return { input: Buffer.from(input), isDetach: true }
    }
    return { input: Buffer.from(input), isDetach: false }
  }
}
