# Enters an image on the host, without any wall but namespaces that keep the
# host as it is: it stands for a box without isolation.
#
# usage: image.sh ROOTFS SCRIPT, in the folder that becomes /box

set -eu
root=$1
mount --bind . "$root/box"
for folder in tmp artifacts; do
    mount -t tmpfs tmpfs "$root/$folder"
done
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t proc proc "$root/proc"
# The loopback, up (SIOCSIFFLAGS, IFF_UP): databases listen there.
python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 1))'
exec env -i PATH=/opt/sandpiper:/usr/bin:/usr/sbin \
    chroot "$root" /bin/sh -euc "cd /box; $2"
