-- The process: proxies, servers, listeners, stick tables, patterns at run time, certificates.
local native = ...
local help = native.help
local ask, needs, number, class, raise = help.ask, help.needs, help.number, help.class, error
local setmetatable, rawset, type, pairs, ipairs, tostring = setmetatable, rawset, type, pairs, ipairs, tostring
local next, select, core = next, select, core

local function text(name, position, value)
  if type(value) ~= "string" and type(value) ~= "number" then
    local got = value == nil and "no value" or type(value)
    raise("bad argument #" .. position .. " to '" .. name .. "' (string expected, got " .. got .. ")", 3)
  end
  return tostring(value)
end

-- StickTable
local StickTable = {}
local table_meta = class("StickTable", StickTable)
local operators = { eq = true, ne = true, le = true, ge = true, lt = true, gt = true }
function StickTable:info() return (ask("table", 0, self[0], "info")) end
function StickTable:lookup(key)
  if key == nil then return nil end
  return (ask("table", 0, self[0], "lookup", tostring(key)))
end
function StickTable:dump(filters)
  local stored = ask("table", 0, self[0], "info").data
  for at, filter in ipairs(filters or {}) do
    local place = " (entry #" .. at .. ")"
    if type(filter) ~= "table" or #filter ~= 3 then
      return nil, 'Filter table entry must be a triplet: {"data_col", "op", val}' .. place
    end
    if not stored[filter[1]] then return nil, "Filter table data column not present in stick table" .. place end
    if not operators[filter[2]] then return nil, "Unknown operator in filter table" .. place end
  end
  local checked = {}
  for at, filter in ipairs(filters or {}) do
    checked[at] = { filter[1], filter[2], number("dump", 2, filter[3]) }
  end
  local found, shard, place = {}, 0, 0
  repeat
    local page = ask("table", 0, self[0], "dump", checked, shard, place)
    for key, entry in pairs(page.entries) do found[page.numeric and number("dump", 1, key) or key] = entry end
    shard, place = page.shard, page.place
  until not shard
  return found
end

-- Listener
local Listener = {}
local listener_meta = class("Listener", Listener)
function Listener:get_stats() return (ask("proxy", 0, self[0].proxy, "listener", self[0].name)) end

-- Server
local Server = {}
local server_meta = class("Server", Server)
for _, name in ipairs { "is_draining", "get_maxconn", "get_weight", "get_addr", "get_stats" } do
  Server[name] = function(self) return (ask("server", 0, self[0].proxy, self[0].name, name)) end
end
for _, name in ipairs {
  "shut_sess", "set_drain", "set_maint", "set_ready",
  "check_enable", "check_disable", "check_force_up", "check_force_nolb", "check_force_down",
  "agent_enable", "agent_disable", "agent_force_up", "agent_force_down",
} do
  Server[name] = function(self) ask("server", 0, self[0].proxy, self[0].name, name) end
end
for _, name in ipairs { "set_maxconn", "set_weight" } do
  Server[name] = function(self, value)
    return (ask("server", 0, self[0].proxy, self[0].name, name, text(name, 1, value)))
  end
end
function Server:set_addr(address, port)
  address, port = text("set_addr", 1, address), port ~= nil and text("set_addr", 2, port) or nil
  return (ask("server", 0, self[0].proxy, self[0].name, "set_addr", address, port))
end

-- Servers are looked up when they are named: they come and go.
local function servers_of(index)
  local known = {}
  local function find(name)
    local puid = type(name) == "string" and ask("server", 0, index, name, "number")
    if not puid then return nil end
    local made = known[name]
    if not made then
      made = setmetatable({ [0] = { proxy = index, name = name }, name = name }, server_meta)
      known[name] = made
    end
    made.puid = puid
    return made
  end
  local function all()
    local found = {}
    for _, name in ipairs(ask("proxy", 0, index, "servers")) do found[name] = find(name) end
    return next, found, nil
  end
  return setmetatable({}, { __index = function(_, name) return find(name) end, __pairs = all })
end

-- Proxy
local Proxy = {}
local proxy_meta = class("Proxy", Proxy)
function Proxy:get_cap() return self[0].capability end
function Proxy:get_mode() return self[0].mode end
function Proxy:get_stats() return (ask("proxy", 0, self[0].index, "get_stats")) end
for _, name in ipairs { "pause", "resume", "stop", "shut_bcksess" } do
  Proxy[name] = function(self) ask("proxy", 0, self[0].index, name) end
end

local function proxy_of(from)
  local proxy = { [0] = from, name = from.name, uuid = from.uuid, listeners = {} }
  proxy.servers = servers_of(from.index)
  for _, name in ipairs(from.listeners) do
    proxy.listeners[name] = setmetatable({ [0] = { proxy = from.index, name = name } }, listener_meta)
  end
  if from.has_table then proxy.stktable = setmetatable({ [0] = from.index }, table_meta) end
  return setmetatable(proxy, proxy_meta)
end

-- The tables of proxies are made when a script names them first.
local families = { proxies = true, frontends = true, backends = true }
setmetatable(core, { __index = function(_, name)
  local list = families[name] and ask("proxies", 0)
  if not list then return nil end
  local proxies, frontends, backends = {}, {}, {}
  for _, from in ipairs(list) do
    local proxy = proxy_of(from)
    proxies[from.name] = proxy
    if from.capability ~= "backend" then frontends[from.name] = proxy end
    if from.capability ~= "frontend" then backends[from.name] = proxy end
  end
  rawset(core, "proxies", proxies)
  rawset(core, "frontends", frontends)
  rawset(core, "backends", backends)
  return core[name]
end })

function core.get_info() return (ask("info", 0)) end

-- Patterns of files
for name, count in pairs { set_map = 3, del_map = 2, add_acl = 2, del_acl = 2 } do
  core[name] = function(...)
    needs(name, count, select("#", ...) ~= count)
    local file, key, value = ...
    return (ask("patterns", 0, name, text(name, 1, file), text(name, 2, key), count == 3 and text(name, 3, value) or nil))
  end
end

-- CertCache
CertCache = {}
function CertCache.set(parts)
  if type(parts) ~= "table" then
    raise("bad argument #1 to 'set' (table expected, got " .. type(parts) .. ")", 2)
  end
  if type(parts.filename) ~= "string" then raise("'CertCache.set' needs a 'filename'", 2) end
  ask("certificate", 0, parts.filename, parts)
end

local classes = native.classes
classes.StickTable, classes.Listener, classes.Server, classes.Proxy = StickTable, Listener, Server, Proxy
classes.CertCache = CertCache
