"""Writes the archive of one hostile image: hostile-images.py ID FILE CANARY, where CANARY is a directory that nothing of it may reach."""

import gzip
import io
import lzma
import subprocess
import sys
import tarfile

MIB = 1 << 20
ident, path, canary = sys.argv[1:4]
entries = []


def add(name, kind=tarfile.REGTYPE, content=b"", link="", mode=0o644, **more):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.mode, entry.size = kind, link, mode, len(content)
    for key, value in more.items():
        setattr(entry, key, value)
    entries.append((entry, content))


def kernel(content=b"no kernel"):
    if content is not None:
        add("boot/vmlinuz-9.9", content=content)
    add("lib/modules/9.9/modules.builtin", content=b"kernel/ext4.ko\nkernel/overlay.ko\nkernel/virtio_pci.ko\n")


def modules(dep=b"kernel/virtio_blk.ko:\n"):
    add("lib/modules/9.9/modules.dep", content=dep)


def node(name, kind, major=0, minor=0):
    add(name, kind, devmajor=major, devminor=minor)


def bomb(member):
    """A file of 100 GiB zeros, a packed piece of 64 MiB so often as it takes."""
    head = tarfile.TarInfo("bomb")
    head.size = 100 << 30
    pack = {"gzip": gzip.compress, "xz": lzma.compress, "zstd": lambda b: subprocess.run(["zstd", "-c"], input=b, capture_output=True, check=True).stdout}[member]
    piece = pack(bytes(64 * MIB))
    with open(path, "wb") as out:
        out.write(pack(head.tobuf()))
        for _ in range(1600 if member != "gzip" else 400):
            out.write(piece)
    sys.exit()


PLAYS = {
    "zero-as-kernel": lambda: (node("boot/vmlinuz-9.9", tarfile.CHRTYPE, 1, 5), kernel(None), modules()),
    "disk-as-kernel": lambda: (node("boot/vmlinuz-9.9", tarfile.BLKTYPE, *map(int, sys.argv[4].split(":"))), kernel(None), modules()),
    "disk-as-module": lambda: (kernel(), modules(), node("lib/modules/9.9/kernel/virtio_blk.ko", tarfile.BLKTYPE, *map(int, sys.argv[4].split(":")))),
    "zero-as-module": lambda: (kernel(), modules(), node("lib/modules/9.9/kernel/virtio_blk.ko", tarfile.CHRTYPE, 1, 5)),
    "fifo-as-kernel": lambda: (node("boot/vmlinuz-9.9", tarfile.FIFOTYPE), kernel(None), modules()),
    "fifo-as-module": lambda: (kernel(), modules(), node("lib/modules/9.9/kernel/virtio_blk.ko", tarfile.FIFOTYPE)),
    "fifo-as-list": lambda: (kernel(), node("lib/modules/9.9/modules.dep", tarfile.FIFOTYPE)),
    "fifo-as-machine-id": lambda: (add("lib/systemd/systemd"), node("etc/machine-id", tarfile.FIFOTYPE)),
    "directory-as-kernel": lambda: (add("boot/vmlinuz-9.9", tarfile.DIRTYPE, mode=0o755), kernel(None), modules()),
    "link-as-kernel": lambda: (add("boot/vmlinuz-9.9", tarfile.SYMTYPE, link="../../../../../../../.." + canary + "/secret"), kernel(None), modules()),
    "link-as-module": lambda: (kernel(), modules(), add("lib/modules/9.9/kernel/virtio_blk.ko", tarfile.SYMTYPE, link=canary + "/secret")),
    "module-path-out": lambda: (kernel(), modules(b"../../../../../../../../.." + canary.encode() + b"/virtio_blk.ko:\n")),
    "links-in-circles": lambda: (add("boot", tarfile.SYMTYPE, link="boot2"), add("boot2", tarfile.SYMTYPE, link="boot")),
    "huge-kernel": lambda: (kernel(bytes(300 * MIB)), modules()),
    "huge-module": lambda: (kernel(), modules(), add("lib/modules/9.9/kernel/virtio_blk.ko", content=bytes(100 * MIB))),
    "module-bomb": lambda: (kernel(), modules(b"kernel/virtio_blk.ko.gz:\n"), add("lib/modules/9.9/kernel/virtio_blk.ko.gz", content=gzip.compress(bytes(900 * MIB)))),
    "huge-list": lambda: (kernel(), modules(b"kernel/virtio_blk.ko:" + b" a.ko" * (40 * MIB // 5))),
    "endless-chain": lambda: (kernel(), modules(b"kernel/virtio_blk.ko: m0.ko\n" + b"".join(b"m%d.ko: m%d.ko\n" % (i, i + 1) for i in range(200000)))),
    "write-through-link": lambda: (add("x", tarfile.SYMTYPE, link=canary), add("x/pwned", content=b"x")),
    "overwrite-hard-link": lambda: (add("h", tarfile.LNKTYPE, link=canary + "/secret"), add("h", content=b"pwned")),
    "absolute-name": lambda: add(canary + "/pwned", content=b"x"),
    "dots": lambda: add("../" * 12 + canary[1:] + "/pwned", content=b"x"),
    "programs-through-link": lambda: add("opt", tarfile.SYMTYPE, link="../" * 12 + canary[1:]),
    "units-through-link": lambda: (add("lib/systemd/systemd"), add("etc", tarfile.DIRTYPE, mode=0o755), add("etc/systemd", tarfile.SYMTYPE, link=canary)),
    "gzip-bomb": lambda: bomb("gzip"),
    "xz-bomb": lambda: bomb("xz"),
    "zstd-bomb": lambda: bomb("zstd"),
    "million-entries": lambda: [add("d/%d" % i) for i in range(300000)],
    "million-directories": lambda: [add("%d/" % i + "a/" * 1500 + "f") for i in range(300)],
    "deep-nesting": lambda: (add("a/" * 1500 + "f"), add("l", tarfile.SYMTYPE, link="a/" * 1500), add("l/" + "b/" * 1500 + "f")),
    "long-name": lambda: add("n" * 300),
    "huge-long-name": lambda: add("n/" * (20 * MIB)),
    "name-not-utf8": lambda: add("caf\udce9.txt", content=b"x"),
    "setuid": lambda: add("su", mode=0o6755, content=b"x"),
    "attributes": lambda: add("cap", content=b"x", pax_headers={"SCHILY.xattr.trusted.overlay.opaque": "y", "SCHILY.xattr.user.a": "b"}),
    "pax-size": lambda: add("p", content=b"x", pax_headers={"size": "99999999999"}),
    "noise": lambda: (open(path, "wb").write(bytes(range(256)) * 4096), sys.exit()),
    "sparse": lambda: (subprocess.run(["sh", "-c", "cd $(mktemp -d) && truncate -s 256G f && tar -Scf \"$0\" f && rm -r \"$PWD\"", path], check=True), sys.exit()),
}
if ident == "--list":
    print("\n".join(PLAYS))
    sys.exit()
PLAYS[ident]()
with tarfile.open(path, "w", format=tarfile.PAX_FORMAT if ident in ("attributes", "pax-size") else tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape") as out:
    for entry, content in entries:
        out.addfile(entry, io.BytesIO(content))
