import { shellQuote } from '../../../lib/process/shell-quote.ts'

/** Returns the remote command that attaches to a tmux session, creating it if missing, quoted for the remote shell. */
export function tmuxCommand(session: string): readonly string[] {
  return [`tmux -u new-session -A -s ${shellQuote(session)}`]
}
