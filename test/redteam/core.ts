/**
 * One attack per class, for `.ci/run`; all others run in `npm run redteam`. Attacks on networks share their machines and
 * run within seconds, so all of them are included.
 */
export const CORE: ReadonlySet<string> = new Set([
  // A host file read, one written, space used up, privileges kept.
  'images/link-as-kernel',
  'images/write-through-link',
  'images/gzip-bomb',
  'images/setuid',
  'archives/takeover/the-scan-read-a-file',
  'archives/takeover/the-search-for-texts-connect-to-a-port-of-the-loopback-address',
  'archives/takeover/the-decompiler-start-a-program',
  'archives/nested-in-nested',
  'archives/class-bomb',
  'guest-channels/mux/credit-overflow',
  'guest-channels/line/sessions-asked-for',
  'guest-channels/agent/json-nested',
  'guest-channels/bus/wrong-token',
  'guest-channels/container/port-endless-headers',
  'guest-channels/machine/console-flood',
  'hostile-peers/upstream-1',
  'hostile-peers/client-1',
  'hostile-peers/folder-0',
])
