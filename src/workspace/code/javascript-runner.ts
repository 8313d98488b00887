/**
 * Program that runs JavaScript code in one global scope, for Node.js 18 and later. The inspector's REPL mode permits `await`,
 * and to declare a name again. Requests are JSON lines on descriptor 3; see `runner-messages.ts` for its messages. It exits
 * with status 120 in an older interpreter.
 */
export const JAVASCRIPT_RUNNER = String.raw`
'use strict'
if (Number(process.versions.node.split('.')[0]) < 18) process.exit(120)
const { createHook } = require('node:async_hooks')
const { writeSync } = require('node:fs')
const { Session } = require('node:inspector')
const { createRequire } = require('node:module')
const { Socket } = require('node:net')
const { inspect } = require('node:util')

const MARK = process.argv[1]
const PIECE = 3500
const MOST_DATA = 4 * 2 ** 20
process.argv.splice(1)
const session = new Session()
session.connect()
let number = 0
let count = 0
let interrupt

function write(fd, data) {
  while (data.length > 0)
    try {
      data = data.subarray(writeSync(fd, data))
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
}

function send(fd, message) {
  const data = Buffer.from(JSON.stringify(message))
  for (let at = 0; at < data.length; at += PIECE) {
    // At most PIPE_BUF bytes: output of other programs cannot get between.
    const end = at + PIECE >= data.length ? '.' : '+'
    const frame = [Buffer.from('\0' + MARK + end), data.subarray(at, at + PIECE), Buffer.from('\0')]
    write(fd, Buffer.concat(frame))
  }
}

function show(value, isValue) {
  const data = { 'text/plain': inspect(value).slice(0, 2 ** 20) }
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  if (Array.isArray(value) || prototype === null || prototype === Object.prototype)
    try {
      const json = JSON.stringify(value)
      if (json !== undefined && json.length <= MOST_DATA) data['application/json'] = json
    } catch {}
  send(1, { type: 'result', run: number, data, isValue })
}

const post = (method, parameters) =>
  new Promise((resolve, reject) =>
    session.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result))),
  )

/** Passes the value of a remote object to a function. */
const HOOK = Symbol.for('workspace.code.value')
async function valueOf(remote) {
  if (remote.unserializableValue !== undefined) {
    const text = remote.unserializableValue
    return text.endsWith('n') && text !== 'NaN' ? BigInt(text.slice(0, -1)) : Number(text)
  }
  if (remote.objectId === undefined) return remote.subtype === 'null' ? null : remote.value
  let value
  Object.defineProperty(globalThis, HOOK, { value: (found) => (value = found), configurable: true })
  const functionDeclaration = 'function () { "use strict"; globalThis[Symbol.for("workspace.code.value")](this) }'
  await post('Runtime.callFunctionOn', { objectId: remote.objectId, functionDeclaration })
  delete globalThis[HOOK]
  return value
}

function errorOf(thrown) {
  if (!(thrown instanceof Error)) return { name: 'Error', value: inspect(thrown).slice(0, 10_000), traceback: '' }
  const lines = String(thrown.stack).split('\n')
  // Frames of this program follow.
  const own = lines.findIndex((line) => line.includes(' (node:inspector:'))
  const traceback = (own === -1 ? lines : lines.slice(0, own)).join('\n').slice(0, 100_000)
  return { name: String(thrown.name), value: String(thrown.message).slice(0, 10_000), traceback }
}

/** Promises of code that has not ended. If the collector frees one that the inspector waits for, the process crashes. */
const waiting = new Set()

/** Evaluates code and holds the promise of its script, which is the first that is created. */
async function evaluate(parameters) {
  let first
  const hook = createHook({ init: (id, type, trigger, promise) => void (type === 'PROMISE' && (first ??= promise)) })
  try {
    return await new Promise((resolve, reject) => {
      hook.enable()
      session.post('Runtime.evaluate', parameters, (error, result) => (error ? reject(error) : resolve(result)))
      hook.disable()
      waiting.add(first)
    })
  } finally {
    waiting.delete(first)
  }
}

const INTERRUPTED = { name: 'Interrupted', value: 'the code was interrupted', traceback: '' }

/** Sets environment variables and returns a function that restores the old ones. */
function setVariables(values) {
  const old = Object.keys(values).map((name) => [name, process.env[name]])
  Object.assign(process.env, values)
  return () => {
    for (const [name, value] of old)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
}

async function run({ run: own, code, environment = {}, timeoutMs }) {
  // Signals for an earlier run may be read after this request.
  await new Promise((resolve) => setImmediate(resolve))
  const stopped = new Promise((resolve) => (interrupt = () => resolve(INTERRUPTED)))
  const resetVariables = setVariables(environment)
  const evaluated = (async () => {
    const options = { replMode: true, awaitPromise: true, objectGroup: 'cell' }
    const limit = timeoutMs === undefined ? {} : { timeout: timeoutMs }
    const answer = await evaluate({ expression: code, ...options, ...limit }).catch(() => undefined)
    // It was terminated.
    if (answer === undefined) return INTERRUPTED
    const { result, exceptionDetails } = answer
    const value = await valueOf(exceptionDetails?.exception ?? result)
    if (exceptionDetails !== undefined) return errorOf(value)
    // Code that was interrupted while it waited may end in a later run.
    if (value !== undefined && own === number) show(value, true)
    return null
  })()
  try {
    return await Promise.race([evaluated, stopped])
  } catch (error) {
    return errorOf(error)
  } finally {
    interrupt = undefined
    resetVariables()
    session.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' })
  }
}

process.on('SIGINT', () => interrupt?.())
process.on('uncaughtException', (error) => process.stderr.write(inspect(error) + '\n'))
globalThis.require = createRequire(process.cwd() + '/')
/** Imports a module; with names as the first parameter, it must export them. */
async function importModule(first, ...more) {
  const [names, specifier, options] = Array.isArray(first) ? [first, ...more] : [[], first, ...more]
  const found = await import(specifier, options)
  const missing = names.find((name) => !(name in found))
  if (missing === undefined) return found
  throw new SyntaxError("The requested module '" + specifier + "' does not provide an export named '" + missing + "'")
}
Object.defineProperty(globalThis, Symbol.for('workspace.code.import'), { value: importModule })
globalThis.display = (...values) => values.forEach((value) => show(value, false))
let pending = ''
const requests = new Socket({ fd: 3, readable: true, writable: false })
requests.setEncoding('utf8')
requests.on('data', async (text) => {
  const lines = (pending + text).split('\n')
  pending = lines.pop()
  for (const line of lines) {
    const request = JSON.parse(line)
    number = request.run
    count++
    const error = await run(request)
    send(2, { type: 'mark', run: number })
    send(1, { type: 'end', run: number, count, error })
  }
})
requests.on('end', () => process.exit())
send(1, { type: 'ready', version: process.versions.node })
`
