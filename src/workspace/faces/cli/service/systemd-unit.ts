import { commandOf, type Service, type ServiceProgram } from './service.ts'

interface Manner {
  readonly description: string
  readonly after: string
  readonly lines: readonly string[]
  /**
   * Hardening for the machine's service manager. A user's cannot take capabilities away, and all that filters system calls there
   * takes away sudo as well.
   */
  readonly ofMachine: readonly string[]
}

/** No clock, no kernel log, no host name: nothing that any of the programs, or what they start, has to change. */
const UNTOUCHED = ['ProtectKernelLogs=yes', 'ProtectHostname=yes']

const MANNERS: Readonly<Record<ServiceProgram, Manner>> = {
  workspace: {
    description: 'Workspace server',
    after: 'network-online.target docker.service podman.service',
    lines: [
      'Type=exec',
      '# Virtual machines are its children, and go on running while it is updated.',
      'KillMode=process',
      '# A machine that the kernel ends for want of memory is not the server.',
      'OOMPolicy=continue',
      'TimeoutStopSec=15',
    ],
    ofMachine: [
      ...UNTOUCHED,
      '# In place of ProtectClock, which allows no device but the clock: machines need /dev/kvm, /dev/net/tun and /dev/vhost-vsock.',
      'SystemCallFilter=~@clock @swap @reboot @obsolete',
      'SystemCallErrorNumber=EPERM',
      'SystemCallArchitectures=native',
      'CapabilityBoundingSet=~CAP_SYS_TIME CAP_WAKE_ALARM CAP_SYSLOG CAP_SYS_BOOT CAP_SYS_TTY_CONFIG CAP_SYS_PACCT',
      'LockPersonality=yes',
      'RestrictRealtime=yes',
    ],
  },
  supervisor: {
    description: 'Process supervisor',
    after: 'network-online.target',
    lines: [
      '# It says itself when it is ready.',
      'Type=notify',
      'ExecReload=kill -HUP $MAINPID',
      'KillMode=mixed',
      'OOMPolicy=continue',
      '# Its processes get control groups of their own.',
      'Delegate=yes',
      '# Longer than its shutdown_timeout.',
      'TimeoutStopSec=30',
    ],
    // Its processes may be anything: what a database, a browser or sudo needs stays.
    ofMachine: [
      ...UNTOUCHED,
      'ProtectKernelModules=yes',
      'SystemCallFilter=~@clock @reboot @obsolete',
      'SystemCallErrorNumber=EPERM',
    ],
  },
  'content-server': {
    description: 'Content server',
    after: 'network-online.target',
    lines: [
      'Type=exec',
      'TimeoutStopSec=15',
      'NoNewPrivileges=yes',
      'PrivateTmp=yes',
      'ProtectSystem=full',
      'ProtectControlGroups=yes',
      'ProtectKernelTunables=yes',
      'RestrictSUIDSGID=yes',
      'LockPersonality=yes',
      'RestrictRealtime=yes',
      'RestrictNamespaces=yes',
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
      'SystemCallArchitectures=native',
    ],
    ofMachine: [
      ...UNTOUCHED,
      'ProtectClock=yes',
      'ProtectKernelModules=yes',
      'PrivateDevices=yes',
      'SystemCallFilter=@system-service',
      'SystemCallErrorNumber=EPERM',
      'CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER',
    ],
  },
}

/** A unit for systemd. Source: systemd.service(5), systemd.exec(5), systemd.kill(5). */
export function systemdUnit(service: Service): string {
  const { program, directory, path, isOfMachine } = service
  const { description, after, lines, ofMachine } = MANNERS[program]
  const network = isOfMachine ? [`After=${after}`, 'Wants=network-online.target'] : []
  return [
    `# Written by "workspace install-service"; settings that are secret belong into the environment's file.`,
    '[Unit]',
    `Description=${description}`,
    ...network,
    '',
    '[Service]',
    `ExecStart=${commandOf(service).map(quoteArgument).join(' ')}`,
    `WorkingDirectory=${directory.replaceAll('%', '%%')}`,
    `Environment=${quote(`PATH=${path}`)}`,
    // Beside the user's config file, which is in a directory called after the program.
    `EnvironmentFile=-${isOfMachine ? `/etc/default/${program}` : `%h/.config/${program}/environment`}`,
    ...lines,
    ...(isOfMachine ? ofMachine : []),
    'Restart=on-failure',
    'RestartSec=2',
    '# As many as the kernel allows a service: each connection is one.',
    'LimitNOFILE=524288',
    '',
    '[Install]',
    `WantedBy=${isOfMachine ? 'multi-user' : 'default'}.target`,
    '',
  ].join('\n')
}

/** In a command line a dollar sign begins a variable, too. */
function quoteArgument(text: string): string {
  return quote(text).replaceAll('$', '$$$$')
}

/** As systemd reads words: a percent sign begins a specifier. */
function quote(text: string): string {
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`
}
