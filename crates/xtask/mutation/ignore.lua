-- Removes the name of the interface that a mutation test wants ignored. Members of a class are
-- removed from it; attributes are `false` in the objects that the built-in functions return.
local native, name = ...
local setmetatable, getmetatable, rawget, rawset, pairs = setmetatable, getmetatable, rawget, rawset, pairs
local class, member = name:match("^(%w+)[.:](.+)$")
local methods = native.classes[class or (name == "Act" and "act") or name]

if not member and methods then
  for key in pairs(methods) do methods[key] = nil end
  return
end
if methods and rawget(methods, member) ~= nil then
  methods[member] = nil
  return
end

-- Removes attributes from the objects that a function returns.
local function without(of, make, ...)
  local make_object, attributes = of[make], { ... }
  of[make] = function(...)
    local object = make_object(...)
    for _, attribute in pairs(attributes) do rawset(object, attribute, false) end
    return object
  end
end

if name == "Fetches" or name == "Converters" then
  local part = name == "Fetches" and "f" or "c"
  for _, make in pairs { "txn", "applet_http", "applet_tcp" } do without(native, make, part, "s" .. part) end
elseif name == "TXN.http_req" or name == "TXN.http_res" then
  -- The event of a filter sets these after it has made the object.
  local make_object = native.txn
  native.txn = function(id)
    local object = make_object(id)
    return setmetatable({}, { __index = function(_, key) return key ~= member and object[key] end, __newindex = object })
  end
elseif class == "TXN" then without(native, "txn", member)
elseif class == "AppletHTTP" then without(native, "applet_http", member)
elseif class == "AppletTCP" then without(native, "applet_tcp", member)
elseif class == "Reply" then without(native.classes.TXN, "reply", member)
else
  -- The tables of proxies are made when a script names them first.
  local meta = getmetatable(core)
  local index = meta.__index
  meta.__index = function(table, key)
    local found = index(table, key)
    if not found then return found end
    for _, proxy in pairs(core.proxies or {}) do
      if class == "Proxy" then rawset(proxy, member, false) end
      if class == "Server" then
        local servers = getmetatable(proxy.servers)
        local find = servers.__index
        servers.__index = function(table, key)
          local server = find(table, key)
          if server then rawset(server, member, false) end
          return server
        end
      end
    end
    if class == "core" then rawset(table, member, false) end
    return rawget(table, key)
  end
end
