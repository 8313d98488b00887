# A neighbor's service: writes down the first line of every connection and every datagram that reaches it, and answers.
#   perl canary.pl PORT FILE
use strict;
use warnings;
use IO::Socket::INET;
use IO::Select;
my ($port, $file) = @ARGV;
open my $log, '>>', $file or die;
$log->autoflush(1);
my $tcp = IO::Socket::INET->new(LocalAddr => '0.0.0.0', LocalPort => $port, Listen => 64, ReuseAddr => 1) or die "tcp: $!";
my $udp = IO::Socket::INET->new(LocalAddr => '0.0.0.0', LocalPort => $port, Proto => 'udp') or die "udp: $!";
print "ready\n";
STDOUT->flush;
my $select = IO::Select->new($tcp, $udp);
while (1) {
  for my $ready ($select->can_read) {
    if ($ready == $tcp) { my $peer = $tcp->accept or next; print $log 'tcp ', $peer->peerhost, "\n"; $select->add($peer) }
    elsif ($ready == $udp) { my $from = $udp->recv(my $text, 2000) or next; print $log "udp $text\n"; $udp->send('canary') }
    else { my $line = <$ready>; print $log 'line ', $line // "\n"; $select->remove($ready); close $ready }
  }
}
