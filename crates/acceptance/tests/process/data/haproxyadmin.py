"""What haproxyadmin reads and changes on the runtime socket named by the first argument."""
import sys
from haproxyadmin import haproxy

proxy = haproxy.HAProxy(socket_file=sys.argv[1])
assert proxy.description == "something", proxy.description
assert proxy.processids and proxy.uptime and proxy.version and proxy.releasedate
assert proxy.totalrequests >= 1, proxy.totalrequests
assert proxy.metric("CumReq") >= 1 and proxy.metric("Maxconn") > 0
assert [it.name for it in proxy.frontends()] == ["web"]
assert [it.name for it in proxy.backends()] == ["app"]
assert sorted(it.name for it in proxy.servers()) == ["s1", "s2"]

front = proxy.frontend("web")
assert (front.status, front.requests >= 1) == ("OPEN", True), (front.status, front.requests)
assert front.setmaxconn(77) and front.maxconn == 77
assert front.disable() and front.enable()

assert proxy.backend("app").requests == 1
one, = proxy.server("s1", "app")
assert (one.status, one.weight, one.requests) == ("no check", "1", 1), (one.status, one.weight, one.requests)
assert one.setstate("drain") and one.status == "DRAIN", one.status
assert one.setstate("maint") and one.status == "MAINT", one.status
two, = proxy.server("s2", "app")
assert two.setweight(7) and two.weight == "7", two.weight

assert proxy.setmaxconn(90) and proxy.maxconn == 90
proxy.setratelimitconn(5)
assert proxy.ratelimitconn == 5, proxy.ratelimitconn
proxy.setratelimitsess(6)
assert proxy.ratelimitsess == 6
proxy.setratelimitsslsess(8)
assert proxy.ratelimitsslsess == 8
assert proxy.errors()
assert proxy.command("show info")
assert proxy.clearcounters(all=True)
