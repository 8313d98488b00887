import { canStartPrograms, notifyManager } from '../../../native/programs.ts'

/** Tells the service manager that has started us how we are, where there is one. Source: sd_notify(3). */
export function tellManager(text: string): void {
  const socket = process.env['NOTIFY_SOCKET']
  if (socket === undefined || socket === '' || !canStartPrograms()) return
  try {
    notifyManager(socket, text)
  } catch (error) {
    process.stderr.write(`supervisor: the service manager at ${socket} cannot be told: ${String(error)}\n`)
  }
}
