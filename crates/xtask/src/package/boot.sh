# Boots a copy of this system: an overlay over its root, with a systemd that runs trial.sh and ends.
# Runs as the first process of new namespaces; $1 is the directory of the trial.
set -eu
place=$1
root=$place/root

mount -t tmpfs -o size=1g,mode=755 trial "$root"
mkdir "$root/upper" "$root/work" "$root/system"
mount -t overlay trial -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/system"
cd "$root/system"

mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 dev dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
touch dev/console
mount --bind "$(tty)" dev/console
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs shm dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs run run
mount -t tmpfs tmp tmp
ip link set lo up

# Of the services of this system, none starts.
rm -f etc/systemd/system/*.wants/*
mkdir -p opt/trial
cp "$place/trial.sh" "$place/weir.deb" opt/trial
touch "$place/result"
touch opt/trial/result
mount --bind "$place/result" opt/trial/result
mkdir opt/trial/upper
mount --bind "$root/upper" opt/trial/upper
cat >etc/systemd/system/trial.service <<'UNIT'
[Unit]
Description=trial of a package
After=basic.target systemd-journald.service
[Service]
Type=oneshot
ExecStart=/bin/bash /opt/trial/trial.sh
ExecStopPost=/bin/systemctl --no-block exit 0
TimeoutStartSec=200
UNIT
exec env -i container=trial PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    chroot "$root/system" /lib/systemd/systemd --system --unit=trial.service --log-target=console
