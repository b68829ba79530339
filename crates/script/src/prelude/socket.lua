-- Socket: connections that scripts make.
local native = ...
local help = native.help
local ask, wait, class, number, raise = help.ask, help.wait_all, help.class, help.number, error
local setmetatable, type, tostring = setmetatable, type, tostring
local math_type, math_tointeger = math.type, math.tointeger

local Socket = {}
local socket_meta = class("Socket", Socket)

local function connector(name)
  return function(self, address, port, timeout)
    if address == nil then raise("connect: need at least 2 arguments", 2) end
    if port ~= nil then port = math_tointeger(number("connect", 2, port)) end
    if timeout ~= nil then timeout = number("connect", 3, timeout) end
    return wait(name, self[0], tostring(address), port or false, timeout)
  end
end
Socket.connect, Socket.connect_ssl = connector("connect"), connector("connect_ssl")

function Socket:send(data, from, to)
  data = tostring(data)
  if from or to then
    data = data:sub(from and number("send", 2, from) or 1, to and number("send", 3, to) or -1)
  end
  return wait("socket_send", self[0], data)
end

-- The bytes that `prefix` begins with come first; an end of the connection without any byte is told.
function Socket:receive(pattern, prefix)
  local kind, count = "socket_line", nil
  if type(pattern) == "number" then
    kind, count = "socket_count", math_type(pattern) == "float" and pattern // 1 | 0 or pattern
    if count < 0 then raise("Unsupported size.", 2) end
  elseif pattern == "*a" then
    kind = "socket_all"
  elseif pattern ~= nil and pattern ~= "*l" then
    raise("Unsupported pattern.", 2)
  end
  prefix = prefix and tostring(prefix) or ""
  if count then count = count > #prefix and count - #prefix or 0 end
  local data, message = wait(kind, self[0], count)
  if data then return prefix .. data end
  if prefix ~= "" then return prefix end
  return nil, message
end

function Socket:settimeout(seconds)
  seconds = number("settimeout", 1, seconds)
  if seconds < 0 then raise("settimeout: cannot set negatives values", 2) end
  return wait("settimeout", self[0], seconds)
end
function Socket:getpeername() return wait("getpeername", self[0]) end
function Socket:getsockname() return wait("getsockname", self[0]) end
function Socket:close() wait("close", self[0]) end
-- As in HAProxy, there are no options to set.
function Socket:setoption() end

function core.tcp() return setmetatable({ [0] = ask("socket_new", 0) }, socket_meta) end

native.classes.Socket = Socket
