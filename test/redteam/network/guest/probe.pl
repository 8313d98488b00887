# What an attacker's root runs inside a workspace: reads attempts from standard input, plays them all at once, and prints what came back.
#   tcp ID ADDRESS PORT     connects and says its id
#   udp ID ADDRESS PORT     sends a datagram with its id, each second until it is answered
#   frame ID HEX            sends an Ethernet frame as it is
#   raw ID ADDRESS PROTOCOL HEX   sends an IPv4 payload of that protocol
# Output: a line `ID RESULT` an attempt, RESULT one of connected, answered, refused, silent, sent, or an error.
use strict;
use warnings;
use Socket qw(:all);
use Fcntl;
use Errno qw(EINPROGRESS);
use IO::Handle;
use Time::HiRes qw(time);

# Seconds that the slowest answer may take.
my $WAIT = $ENV{PROBE_WAIT} // 3;
my (%tcp, %udp, %to, %result);
sub address { my ($host, $port) = @_;
  my $v6 = inet_pton(AF_INET6, $host =~ s/%.*//r);
  if (defined $v6) { my $scope = $host =~ /%(\d+)/ ? $1 : 0; return (AF_INET6, pack_sockaddr_in6($port, $v6, $scope, 0)); }
  return (AF_INET, pack_sockaddr_in($port, inet_pton(AF_INET, $host)));
}
sub open_socket { my ($family, $type) = @_;
  socket(my $socket, $family, $type, 0) or return;
  fcntl($socket, F_SETFL, O_NONBLOCK);
  return $socket;
}
while (my $line = <STDIN>) {
  chomp $line;
  my ($kind, $id, @rest) = split / /, $line;
  if ($kind eq 'tcp' or $kind eq 'udp') {
    my ($family, $to) = address(@rest);
    my $socket = open_socket($family, $kind eq 'tcp' ? SOCK_STREAM : SOCK_DGRAM) or do { $result{$id} = "error $!"; next };
    if ($kind eq 'tcp') {
      if (connect($socket, $to) or $! == EINPROGRESS) { $tcp{$id} = $socket } else { $result{$id} = "error $!" }
    } else {
      setsockopt($socket, SOL_SOCKET, SO_BROADCAST, 1);
      if (defined send($socket, $id, 0, $to)) { $udp{$id} = $socket; $to{$id} = $to } else { $result{$id} = "error $!" }
    }
  } elsif ($kind eq 'frame') {
    my ($hex) = @rest;
    # AF_PACKET, SOCK_RAW, ETH_P_ALL
    if (!socket(my $raw, 17, SOCK_RAW, unpack('S', pack('n', 3)))) { $result{$id} = "error $!"; next }
    else {
      my ($name) = grep { !/^lo$/ } map { s{.*/}{}r } glob('/sys/class/net/*');
      my $index = do { open my $file, '<', "/sys/class/net/$name/ifindex" or die; <$file> };
      my $to = pack('S n i S C C a8', 17, 3, $index, 0, 0, 6, "\xff" x 6);
      $result{$id} = defined send($raw, pack('H*', $hex), 0, $to) ? 'sent' : "error $!";
    }
  } elsif ($kind eq 'raw') {
    my ($host, $protocol, $hex) = @rest;
    if (!socket(my $raw, AF_INET, SOCK_RAW, $protocol)) { $result{$id} = "error $!"; next }
    else { $result{$id} = defined send($raw, pack('H*', $hex // ''), 0, pack_sockaddr_in(0, inet_aton($host))) ? 'sent' : "error $!"; }
  }
}
my $until = time + $WAIT;
my $again = time + 1;
while (time < $until and (%tcp or %udp)) {
  if (time > $again) { $again = time + 1; send($udp{$_}, $_, 0, $to{$_}) for keys %udp }
  my ($read, $write) = ('', '');
  vec($write, fileno($tcp{$_}), 1) = 1 for keys %tcp;
  vec($read, fileno($udp{$_}), 1) = 1 for keys %udp;
  select($read, $write, undef, 0.2);
  for my $id (keys %tcp) {
    next unless vec($write, fileno($tcp{$id}), 1);
    my $error = unpack('i', getsockopt($tcp{$id}, SOL_SOCKET, SO_ERROR));
    if ($error) { $! = $error; $result{$id} = "refused $!" }
    else { syswrite($tcp{$id}, "$id\n"); $result{$id} = 'connected' }
    delete $tcp{$id} if $error;
    if (!$error) { $result{"keep $id"} = delete $tcp{$id} }
  }
  for my $id (keys %udp) {
    next unless vec($read, fileno($udp{$id}), 1);
    my $from = recv($udp{$id}, my $answer, 2000, 0);
    $result{$id} = defined $from ? 'answered' : "refused $!";
    delete $udp{$id};
  }
}
$result{$_} = 'silent' for keys %tcp, keys %udp;
for (sort keys %result) { print "$_ $result{$_}\n" unless /^keep / }
