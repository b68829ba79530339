-- The global tables that scripts see, on top of the functions that `native` holds.
local native = ...
local slot, marker = native.slot, native.marker
local yield = coroutine.yield
local raise, select, setmetatable, rawset, rawget = error, select, setmetatable, rawset, rawget
local type, pairs, ipairs, tostring, tonumber = type, pairs, ipairs, tostring, tonumber
local table_concat, table_unpack = table.concat, table.unpack
local math_tointeger = math.tointeger

-- Results of the process come behind `true`, an error behind `false`; its place is the caller's of the
-- method, three frames up.
local function pass(ok, ...)
  if ok then return ... end
  raise((...), 4)
end

local function ask(op, id, ...)
  local call = slot[1]
  if not call then raise("'" .. op .. "' is not available here", 3) end
  return (pass(call(op, id, ...)))
end

-- Suspends the script until the process has done something for it.
local function wait(op, ...)
  return (pass(yield(marker, op, ...)))
end

-- The same with all results. A tail call would take the frame away that `pass` counts.
local function same(...) return ... end
local function wait_all(op, ...)
  return same(pass(yield(marker, op, ...)))
end

local function needs(name, count, bad)
  if bad then raise("'" .. name .. "' needs " .. count .. " arguments", 3) end
end

local function number(name, position, value)
  local found = tonumber(value)
  if not found or type(value) == "boolean" then
    raise("bad argument #" .. position .. " to '" .. name .. "' (number expected, got " .. type(value) .. ")", 3)
  end
  return math_tointeger(found) or found
end

-- The matchers of the library cannot be interrupted: these count their steps. The tail calls keep the
-- caller's place at level 2.
local function results(ok, ...)
  if ok then return ... end
  raise((...), 2)
end
local string_find, string_match, string_gsub = native.string_find, native.string_match, native.string_gsub
function string.find(...) return results(string_find(...)) end
function string.match(...) return results(string_match(...)) end
function string.gsub(...) return results(string_gsub(...)) end
local string_gmatch = native.string_gmatch
function string.gmatch(...)
  local ok, following = string_gmatch(...)
  if not ok then raise(following, 2) end
  return function() return results(following()) end
end

-- A loop that the library does not interrupt either.
local table_move, most_moves = table.move, 10000000
function table.move(from, first, last, ...)
  if (tonumber(last) or 0) + 0.0 - ((tonumber(first) or 0) + 0.0) >= most_moves then
    raise("too many elements to move", 2)
  end
  return table_move(from, first, last, ...)
end

-- The standard streams: nothing waits for their readers.
local write, table_pack = native.write, table.pack
local function text_of(...)
  local parts = table_pack(...)
  for at = 1, parts.n do
    local kind = type(parts[at])
    if kind ~= "string" and kind ~= "number" then
      raise("bad argument #" .. at .. " to 'write' (string expected, got " .. kind .. ")", 3)
    end
  end
  return table_concat(parts, "", 1, parts.n)
end
local function standard(number)
  local stream = {}
  function stream:write(...)
    write(number, text_of(...))
    return self
  end
  function stream:flush() return self end
  function stream:setvbuf() return true end
  function stream:seek() return nil, "Illegal seek", 29 end
  function stream:close() return nil, "cannot close standard file" end
  return setmetatable(stream, { __name = "FILE*", __tostring = function() return "file (standard)" end })
end
local stdout, io_output, io_type = standard(1), io.output, io.type
io.stdout, io.stderr = stdout, standard(2)
local default = stdout
function io.output(...)
  if select("#", ...) > 0 and (...) ~= nil then
    if (...) == stdout or (...) == io.stderr then default = (...) else default = io_output(...) end
  end
  return default
end
function io.write(...) return default:write(...) end
function io.type(value)
  if value == stdout or value == io.stderr then return "file" end
  return io_type(value)
end
function print(...)
  local parts = table_pack(...)
  for at = 1, parts.n do parts[at] = tostring(parts[at]) end
  write(1, table_concat(parts, "\t", 1, parts.n) .. "\n")
end

local function class(name, methods)
  local text = "HAProxy class " .. name
  return { __index = methods, __tostring = function() return text end }
end

-- Regex
local Regex = {}
local regex_meta = class("Regex", Regex)
local compile, regex_exec, regex_match = native.regex_new, native.regex_exec, native.regex_match
function Regex.new(pattern, sensitive)
  if type(pattern) ~= "string" then
    raise("bad argument #1 to 'new' (string expected, got " .. type(pattern) .. ")", 2)
  end
  if type(sensitive) ~= "boolean" then
    raise("bad argument #2 to 'new' (boolean expected, got " .. type(sensitive) .. ")", 2)
  end
  local found, message = compile(pattern, sensitive)
  if not found then return false, message end
  return true, setmetatable({ [0] = found }, regex_meta)
end
function Regex:exec(text)
  return regex_exec(self[0], tostring(text))
end
function Regex:match(text)
  local groups = regex_match(self[0], tostring(text))
  if groups then return true, groups end
  return false, {}
end

-- Concat
local Concat = {}
local concat_meta = { __index = Concat, __name = "Concat object" }
function Concat:add(text)
  local size = self[0] + 1
  self[0], self[size] = size, tostring(text)
end
function Concat:dump()
  local text = table_concat(self, "", 1, self[0])
  for at = self[0], 2, -1 do self[at] = nil end
  self[0], self[1] = 1, text
  return text
end

-- Map
local Map = {
  _found = 0, _bool = 1, _int = 2, _ip = 3, _bin = 4, _len = 5, _str = 6, _beg = 7, _sub = 8, _dir = 9,
  _dom = 10, _end = 11, _reg = 12, _regm = 13,
}
for _, kind in ipairs { "found", "bool", "int", "ip", "bin", "len", "str", "beg", "sub", "dir", "dom", "end", "reg", "regm" } do
  Map[kind] = Map["_" .. kind]
end
local map_meta = class("Map", Map)
function Map.new(file, kind)
  if type(file) ~= "string" then
    raise("bad argument #1 to 'new' (string expected, got " .. type(file) .. ")", 2)
  end
  return setmetatable({ [0] = ask("map_new", 0, file, kind or Map._str) }, map_meta)
end
function Map:lookup(key) return (ask("map_lookup", 0, self[0], key, false)) end
function Map:slookup(key) return (ask("map_lookup", 0, self[0], key, true)) end

-- Fetches and Converters: every name that expressions know, other characters replaced by `_`.
local function family(title, known, op)
  local function reader(as_text)
    local made = {}
    return { __tostring = function() return "HAProxy class " .. title end, __index = function(_, name)
      local method = made[name]
      if not method and known[name] then
        local keyword = known[name]
        method = function(self, ...) return (ask(op, self[0], keyword, as_text, ...)) end
        made[name] = method
      end
      return method
    end }
  end
  return reader(false), reader(true)
end
local fetches_meta, text_fetches_meta = family("Fetches", native.fetches, "fetch")
local converters_meta, text_converters_meta = family("Converters", native.converters, "convert")

-- Channel
-- Its methods are in a file of their own.
local Channel = {}
local channel_meta = class("Channel", Channel)

-- HTTP
local HTTP = {}
local http_meta = class("HTTP", HTTP)
for side, prefix in pairs { [0] = "req_", [1] = "res_" } do
  HTTP[prefix .. "get_headers"] = function(self) return (ask("get_headers", self[0], side)) end
  HTTP[prefix .. "add_header"] = function(self, name, value)
    needs(prefix .. "add_hdr", 3, value == nil)
    ask("add_header", self[0], side, name, value)
  end
  HTTP[prefix .. "set_header"] = function(self, name, value)
    needs(prefix .. "set_hdr", 3, value == nil)
    ask("set_header", self[0], side, name, value)
  end
  HTTP[prefix .. "del_header"] = function(self, name)
    needs(prefix .. "del_hdr", 2, name == nil)
    ask("del_header", self[0], side, name)
  end
  HTTP[prefix .. "rep_header"] = function(self, name, pattern, text)
    needs(prefix .. "rep_hdr", 4, text == nil)
    ask("rep_header", self[0], side, name, pattern, text)
  end
  HTTP[prefix .. "rep_value"] = function(self, name, pattern, text)
    needs(prefix .. "rep_val", 4, text == nil)
    ask("rep_value", self[0], side, name, pattern, text)
  end
end
for _, part in ipairs { "method", "path", "query", "uri" } do
  local name = "req_set_" .. part
  HTTP[name] = function(self, value)
    needs(name, 2, value == nil)
    return (ask("set_" .. part, self[0], value))
  end
end
function HTTP:res_set_status(status, reason)
  return (ask("set_status", self[0], number("res_set_status", 1, status), reason))
end

-- Reply
local reason_of = native.reason
local Reply = {}
local reply_meta = class("Reply", Reply)
function Reply:set_status(status, reason)
  status = number("set_status", 1, status)
  self.status, self.reason = status, reason or reason_of(status)
  return true
end
function Reply:add_header(name, value)
  self.headers = self.headers or {}
  local values = self.headers[name]
  if not values then
    values = {}
    self.headers[name] = values
  end
  values[#values + 1] = tostring(value)
  return true
end
function Reply:del_header(name)
  if self.headers then self.headers[name] = nil end
  return true
end
function Reply:set_body(body)
  self.body = tostring(body)
  return true
end

-- One line for the wire: name, value, name, value.
local function flat(headers)
  local lines = {}
  for name, values in pairs(headers or {}) do
    if type(values) ~= "table" then values = { values } end
    local first = values[0] and 0 or 1
    for at = first, #values do
      lines[#lines + 1] = tostring(name)
      lines[#lines + 1] = tostring(values[at])
    end
  end
  return lines
end

-- Logs
local levels = { Debug = 7, Info = 6, Warning = 4, Alert = 1 }

-- Variables, private data and logs, which transactions and services have in common.
local function common(methods)
  function methods:get_var(name)
    needs("get_var", 2, name == nil)
    return (ask("get_var", self[0], name))
  end
  function methods:set_var(...)
    local count = select("#", ...)
    needs("set_var", "between 3 and 4", count < 2 or count > 3)
    local name, value, if_exists = ...
    return (ask("set_var", self[0], name, value, if_exists or false))
  end
  function methods:unset_var(name)
    needs("unset_var", 2, name == nil)
    return (ask("unset_var", self[0], name))
  end
  function methods:get_priv() return (ask("get_priv", self[0])) end
  function methods:set_priv(data) return (ask("set_priv", self[0], data)) end
  return methods
end

-- TXN
local TXN = common {}
function TXN:log(level, text)
  needs("log", 3, text == nil)
  ask("log", self[0], number("log", 1, level), text)
end
function TXN:deflog(text) ask("deflog", self[0], text) end
for name, level in pairs(levels) do
  TXN[name] = function(self, text) ask("log", self[0], level, text) end
end
function TXN:reply(from)
  local reply = { status = 200, headers = {} }
  for key, value in pairs(from or {}) do reply[key] = value end
  reply.reason = reply.reason or reason_of(number("reply", 1, reply.status))
  return setmetatable(reply, reply_meta)
end
function TXN:done(reply)
  if type(reply) == "table" then
    ask("done", self[0], reply.status or 200, reply.reason, flat(reply.headers), reply.body)
  else
    ask("done", self[0])
  end
  yield(marker, "end")
end
function TXN:set_loglevel(level)
  level = number("set_loglevel", 1, level)
  if level < 0 or level > 7 then
    raise("bad argument #1 to 'set_loglevel' (Bad log level. It must be between 0 and 7)", 2)
  end
  ask("set_loglevel", self[0], level)
end
for _, name in ipairs { "set_tos", "set_mark", "set_priority_class", "set_priority_offset" } do
  TXN[name] = function(self, value) ask(name, self[0], number(name, 1, value)) end
end

local function part(meta)
  return function(id) return setmetatable({ [0] = id }, meta) end
end
local parts = {
  f = part(fetches_meta), sf = part(text_fetches_meta), c = part(converters_meta),
  sc = part(text_converters_meta), http = part(http_meta),
  req = function(id) return setmetatable({ [0] = id, response = false }, channel_meta) end,
  res = function(id) return setmetatable({ [0] = id, response = true }, channel_meta) end,
}
local http_parts = { f = true, sf = true, c = true, sc = true, http = true }
local tcp_parts = { f = true, sf = true, c = true, sc = true }

-- Parts of an object are made when a script names them first.
local function whole(title, methods, allowed)
  return { __tostring = function() return "HAProxy class " .. title end, __index = function(self, name)
    local method = methods[name]
    if method ~= nil then return method end
    local make = (not allowed or allowed[name]) and parts[name]
    if not make then return nil end
    local made = make(self[0])
    rawset(self, name, made)
    return made
  end }
end
local txn_meta = whole("TXN", TXN)
native.txn = function(id) return setmetatable({ [0] = id }, txn_meta) end

-- AppletHTTP
local AppletHTTP = common {}
local applet_http_meta = whole("AppletHTTP", AppletHTTP, http_parts)
function AppletHTTP:set_status(status, reason)
  local state = self.response
  state.status, state.reason = number("set_status", 1, status), reason
end
function AppletHTTP:add_header(name, value)
  needs("add_header", 3, value == nil)
  local lines = self.response.lines
  lines[#lines + 1] = tostring(name)
  lines[#lines + 1] = tostring(value)
end
function AppletHTTP:start_response()
  local state = self.response
  if state.started then return end
  state.started = true
  ask("start_response", self[0], state.status, state.reason, state.lines)
end
function AppletHTTP:send(text)
  if not self.response.started then
    raise("Lua: 'send' you must call start_response() before sending data.", 2)
  end
  return (wait("send", tostring(text)))
end
function AppletHTTP:receive(size)
  return (wait("receive", size and number("receive", 1, size) or -1))
end
function AppletHTTP:getline() return (wait("getline")) end
native.applet_http = function(id, request)
  request[0], request.response = id, { status = 200, lines = {}, started = false }
  return setmetatable(request, applet_http_meta)
end

-- AppletTCP
local AppletTCP = common {}
local applet_tcp_meta = whole("AppletTCP", AppletTCP, tcp_parts)
function AppletTCP:send(text) return (wait("send", tostring(text))) end
function AppletTCP:receive(size)
  return (wait("receive", size and number("receive", 1, size) or -1))
end
function AppletTCP:getline() return (wait("getline")) end
native.applet_tcp = function(id) return setmetatable({ [0] = id }, applet_tcp_meta) end

-- act, filter, core
act = { CONTINUE = 0, STOP = 1, YIELD = 2, ERROR = 3, DONE = 4, DENY = 5, ABORT = 6, INVALID = 7 }
-- Scripts call it with a dot, or with a colon.
function act.wake_time(...)
  local first, second = ...
  local span = first == act and second or first
  ask("wake_time", 0, number("wake_time", 1, span) // 1)
end
filter = { CONTINUE = 1, WAIT = 0, ERROR = -1, FLT_CFG_FL_HTX = 1 }

core = {
  emerg = 0, alert = 1, crit = 2, err = 3, warning = 4, notice = 5, info = 6, debug = 7,
  thread = native.thread,
  parse_addr = native.parse_addr, match_addr = native.match_addr,
}
for _, name in ipairs { "http_date", "imf_date", "rfc850_date", "asctime_date" } do
  local read = native[name]
  core[name] = function(text) return read(tostring(text)) end
end
for name, level in pairs(levels) do
  core[name] = function(text)
    needs(name, 1, text == nil)
    ask("log", 0, level, text)
  end
end
function core.log(level, text)
  needs("log", 2, text == nil)
  ask("log", 0, number("log", 1, level), text)
end
function core.now() return (ask("now", 0)) end
function core.concat() return setmetatable({ [0] = 0 }, concat_meta) end
function core.set_nice(nice)
  needs("set_nice", 1, nice == nil)
  ask("set_nice", 0, number("set_nice", 1, nice))
end
function core.done() yield(marker, "end") end
function core.yield() wait("yield") end
function core.sleep(seconds) wait("sleep", number("sleep", 1, seconds) * 1000) end
function core.msleep(milliseconds) wait("sleep", number("msleep", 1, milliseconds)) end

function core.tokenize(text, separators, noblank)
  text, separators = tostring(text), tostring(separators)
  local seps, parts, start = {}, {}, 1
  for at = 1, #separators do seps[separators:byte(at)] = true end
  for at = 1, #text + 1 do
    local byte = text:byte(at)
    if not byte or seps[byte] then
      if at > start or not noblank then parts[#parts + 1] = text:sub(start, at - 1) end
      start = at + 1
    end
  end
  return parts
end

-- Registration
local function callable(name, position, value)
  if type(value) ~= "function" then
    raise("bad argument #" .. position .. " to '" .. name .. "' (function expected, got " .. type(value) .. ")", 3)
  end
  return value
end
local environments = { ["tcp-req"] = true, ["tcp-res"] = true, ["http-req"] = true, ["http-res"] = true, ["http-after-res"] = true }
function core.register_action(name, where, run, count)
  needs("register_action", "between 3 and 4", run == nil)
  callable("register_action", 3, run)
  if type(where) ~= "table" then raise("register_action: second argument must be a table of strings", 2) end
  for _, environment in ipairs(where) do
    if not environments[environment] then
      raise("Lua action environment '" .. tostring(environment) .. "' is unknown. 'tcp-req', 'tcp-res', 'http-req' or 'http-res' are expected.", 2)
    end
  end
  ask("register_action", 0, tostring(name), where, run, count or 0)
end
function core.register_converters(name, run)
  ask("register_converter", 0, tostring(name), callable("register_converters", 2, run))
end
function core.register_fetches(name, run)
  ask("register_fetch", 0, tostring(name), callable("register_fetches", 2, run))
end
function core.register_service(name, mode, run)
  callable("register_service", 3, run)
  if mode ~= "tcp" and mode ~= "http" then
    raise("Lua applet environment '" .. tostring(mode) .. "' is unknown. 'tcp' or 'http' are expected.", 2)
  end
  ask("register_service", 0, tostring(name), mode, run)
end
function core.register_cli(words, usage, run)
  callable("register_cli", 3, run)
  if type(words) ~= "table" then raise("register_cli: first argument must be a table of strings", 2) end
  ask("register_cli", 0, words, tostring(usage or ""), run)
end
function core.register_init(run) ask("register_init", 0, callable("register_init", 1, run)) end
function core.register_task(run, ...) ask("register_task", 0, callable("register_task", 1, run), ...) end

_G.Map, _G.Regex = Map, Regex
native.classes = {
  TXN = TXN, Reply = Reply, HTTP = HTTP, Channel = Channel, Concat = Concat, Map = Map, Regex = Regex,
  AppletHTTP = AppletHTTP, AppletTCP = AppletTCP, core = core, act = act, filter = filter,
}
-- What the files of the other classes share with this one.
native.help = {
  ask = ask, wait = wait, wait_all = wait_all, needs = needs, number = number, class = class, common = common,
  callable = callable, parts = parts, part = part, whole = whole, flat = flat,
}
-- A part of the library `debug` that cannot break the process.
debug = { traceback = native.traceback, getinfo = native.getinfo }
