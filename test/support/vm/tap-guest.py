# A guest without a machine: a tap device in this network namespace, whose frames go to a stream socket as QEMU sends them.
#   python3 tap-guest.py SOCKET MAC ADDRESS/LENGTH GATEWAY
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys

path, mac, address, gateway = sys.argv[1:5]
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", b"tap0", IFF_TAP | IFF_NO_PI))
for words in (
    ["link", "set", "tap0", "address", mac, "up"],
    ["address", "add", address, "dev", "tap0"],
    ["route", "add", "default", "via", gateway],
):
    subprocess.run(["ip", *words], check=True)
stream = socket.socket(socket.AF_UNIX)
stream.connect(path)
print("ready", flush=True)
held = b""
while True:
    ready, _, _ = select.select([tap, stream], [], [])
    if tap in ready:
        frame = os.read(tap, 70000)
        stream.sendall(struct.pack(">I", len(frame)) + frame)
    if stream in ready:
        chunk = stream.recv(1 << 20)
        if not chunk:
            break
        held += chunk
        while len(held) >= 4 and len(held) >= 4 + struct.unpack(">I", held[:4])[0]:
            size = 4 + struct.unpack(">I", held[:4])[0]
            os.write(tap, held[4:size])
            held = held[size:]
