# The life of the package in the booted copy: installed, started, reloaded under load, upgraded, removed.
# Each step that holds is a line of /opt/trial/result.
set -eu
here=/opt/trial
step=boot
trap 'echo "trial: failed: $step (line $LINENO)" >>$here/result; journalctl -u weir -u haproxy --no-pager | tail -40; exit 1' ERR
holds() { echo "trial: $step" >>$here/result; }
pid() { systemctl show -P MainPID "$1"; }
status() { curl -s -o /dev/null -w '%{http_code}' "$1"; }

# The files of the copy that differ from this system's, without those that any boot and dpkg itself write.
changed() {
    (cd $here/upper && find . \( -type f -o -type l -o -type d \) | grep -Ev \
        '^\.(/(opt|root|tmp|run|dev|proc|sys)|/var/(lib/(dpkg|systemd|apt|private)|log|tmp|cache)|/etc/(systemd/system|rc.\.d))(/|$)' |
        grep -Ev '^\./etc/(machine-id|mtab|passwd|group|shadow|gshadow|subuid|subgid)-?$|\.pwd\.lock$' | LC_ALL=C sort)
}
changed >$here/before
find /etc/systemd/system -name 'weir*' | LC_ALL=C sort >$here/units.before

# Requests on new connections until /run/load is gone; what failed is in $here/failed.
load() {
    touch /run/load
    while [ -e /run/load ]; do
        curl -s -H 'Connection: close' -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$1/[1-50]" || echo "curl $?"
    done >$here/codes
}
under_load() {
    port=$1
    shift
    load "$port" &
    loader=$!
    "$@"
    rm /run/load
    wait $loader
    failed=$(grep -vc '^200$' $here/codes || true)
    asked=$(wc -l <$here/codes)
    [ "$failed" = 0 ] || step="$step: $failed of $asked failed: $(grep -v '^200$' $here/codes | sort | uniq -c | tr '\n' ' ')"
    [ "$failed" = 0 ] && [ "$asked" -gt 50 ]
}
# `systemctl reload` returns before the new worker serves.
serves() {
    for _ in $(seq 100); do
        [ "$(status "$1")" = 200 ] && return
        sleep 0.1
    done
    false
}
reloads() { for _ in 1 2 3 4 5; do systemctl reload "$1"; sleep 0.3; done; }

step='the package installs, and the service starts'
dpkg -i $here/weir.deb
systemctl is-active --quiet weir
systemctl is-enabled --quiet weir
serves http://127.0.0.1:8404/
holds

step='man pages and completions are where they are looked for'
man -w weir >/dev/null 2>&1 || [ -s /usr/share/man/man8/weir.8.gz ]
[ -s /usr/share/man/man5/weir.cfg.5.gz ]
bash -n /usr/share/bash-completion/completions/weir
holds

cat >>/etc/weir/weir.cfg <<'CFG'
frontend web
    bind 127.0.0.1:8080
    http-request return status 200 content-type text/plain string "one\n"
CFG
systemctl reload weir
serves http://127.0.0.1:8080/

step='five reloads under load lose no request'
first=$(pid weir)
under_load 8080 reloads weir
[ "$(pid weir)" = "$first" ]
holds
echo "trial:   $asked requests, 0 failed" >>$here/result

step='a reload with a broken configuration fails and changes nothing'
cp /etc/weir/weir.cfg $here/good.cfg
echo 'nonsense' >>/etc/weir/weir.cfg
! systemctl reload weir
[ "$(status http://127.0.0.1:8080/)" = 200 ]
holds

step='an upgrade with a broken configuration leaves the service as it is'
worker=$(pgrep -P "$first" | head -1)
dpkg -i $here/weir.deb 2>$here/said
grep -q 'not valid for this version' $here/said
[ "$(pid weir)" = "$first" ]
kill -0 "$worker"
holds

step='an upgrade under load loses no request'
cp $here/good.cfg /etc/weir/weir.cfg
under_load 8080 dpkg -i $here/weir.deb
[ "$(pid weir)" = "$first" ]
holds

step='user, group, chroot and the owner of a runtime socket: start, reload, stop'
sed -i 's|^    stats socket.*|    chroot /var/lib/weir\n    stats socket /run/weir/admin.sock user weir group adm mode 660 level admin|' /etc/weir/weir.cfg
systemctl restart weir
serves http://127.0.0.1:8080/
[ "$(stat -c '%U %G %a' /run/weir/admin.sock)" = 'weir adm 660' ]
worker=$(pgrep -P "$(pid weir)" | head -1)
[ "$(stat -c %U "/proc/$worker")" = weir ]
[ ! -e "/proc/$worker/root/etc" ]
under_load 8080 reloads weir
[ "$(stat -c '%U %G %a' /run/weir/admin.sock)" = 'weir adm 660' ]
systemctl stop weir
! pgrep -x weir
holds

step="Debian's haproxy.service and haproxy.cfg, with the program replaced"
cp /usr/sbin/weir /usr/sbin/haproxy
cat >>/etc/haproxy/haproxy.cfg <<'CFG'
frontend web
    bind 127.0.0.1:8081
    http-request return status 200
CFG
mkdir -p /run/haproxy /var/lib/haproxy/dev
systemctl start haproxy
serves http://127.0.0.1:8081/
first=$(pid haproxy)
under_load 8081 reloads haproxy
[ "$(pid haproxy)" = "$first" ]
[ -S /run/haproxy/admin.sock ]
holds

step='take-over moves the configuration of HAProxy to the service of Weir, and back'
/usr/share/weir/take-over
serves http://127.0.0.1:8081/
systemctl is-active --quiet weir
! systemctl is-active --quiet haproxy
/usr/share/weir/take-over --back
systemctl is-active --quiet haproxy
! systemctl is-active --quiet weir
systemctl disable --quiet --now haproxy
cp -p /etc/haproxy/haproxy.cfg $here/haproxy.cfg
holds

step='a removal leaves nothing behind'
systemctl start weir
dpkg --purge weir
! pgrep -x weir
! getent passwd weir
changed | grep -Ev '^\./(usr/sbin/haproxy|etc/haproxy/haproxy.cfg|var/lib/haproxy/dev.*)$' >$here/after || true
# Directories of an overlay are copied when a file in them changes; only files and links count.
left=$(comm -13 $here/before $here/after | while read -r name; do
    if [ ! -d "$here/upper/$name" ] || [ "${name##*/}" = weir ]; then echo "$name"; fi
done)
[ -z "$left" ] || { step="$step: $left"; false; }
find /etc/systemd/system -name 'weir*' | LC_ALL=C sort | cmp - $here/units.before
holds

echo 'trial: all steps hold' >>$here/result
