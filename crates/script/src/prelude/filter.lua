-- HTTPMessage and filters. A message is seen by the filters of scripts: its head, then its payload.
local native = ...
local help = native.help
local ask, needs, number, class, raise = help.ask, help.needs, help.number, help.class, error
local setmetatable, type, pairs, ipairs, tostring, select = setmetatable, type, pairs, ipairs, tostring, select
local core, filter = core, filter

local Channel, HTTPMessage = native.classes.Channel, {}
local message_meta = class("HTTPMessage", HTTPMessage)

-- The payload has the methods of channels.
for _, name in ipairs {
  "append", "forward", "input", "insert", "is_full", "is_resp", "may_recv", "output", "prepend", "remove", "send", "set",
} do
  HTTPMessage[name] = Channel[name]
end
function HTTPMessage:body(offset, length)
  local bytes = Channel.data(self, offset, length)
  if bytes == "" and not self:may_recv() and self:eom() then return nil end
  return bytes
end
local function side(self) return self.response and 1 or 0 end
function HTTPMessage:eom() return ask("channel_state", self[0], self.response).last end
function HTTPMessage:set_eom() ask("message_end", self[0], self.response, true) end
function HTTPMessage:unset_eom() ask("message_end", self[0], self.response, false) end

function HTTPMessage:get_headers() return (ask("get_headers", self[0], side(self))) end
function HTTPMessage:get_stline() return (ask("get_stline", self[0], side(self))) end
for name, count in pairs { add_header = 2, set_header = 2, del_header = 1, rep_header = 3, rep_value = 3 } do
  HTTPMessage[name] = function(self, ...)
    needs(name, count + 1, select("#", ...) < count)
    ask(name, self[0], side(self), ...)
  end
end
for _, part in ipairs { "method", "path", "query", "uri" } do
  local name = "set_" .. part
  HTTPMessage[name] = function(self, value)
    needs(name, 2, value == nil)
    if self.response then raise("'" .. name .. "' : called with a response message.", 2) end
    return (ask(name, self[0], value))
  end
end
function HTTPMessage:set_status(status, reason)
  if not self.response then raise("'set_status' : called with a request message.", 2) end
  return (ask("set_status", self[0], number("set_status", 1, status), reason))
end

local function message(response)
  return function(id) return setmetatable({ [0] = id, response = response }, message_meta) end
end
local request, answer = message(false), message(true)

-- Makes the filter of a line of the configuration.
native.parse_filter = function(parse, class, args)
  native.made = parse(class, args)
  if type(native.made) ~= "table" then raise("its function has returned no table", 0) end
end

-- Makes the object of a filter for a stream.
native.attach = function(line)
  if type(line.new) == "function" then native.made = line:new() else native.made = setmetatable({}, { __index = line }) end
  if type(native.made) ~= "table" then raise("'new' has made no table", 0) end
end

-- Calls a function of a filter, if it has it.
native.event = function(object, name, id, response, about_message, http)
  local method = object[name]
  if not method then return nil end
  local txn = native.txn(id)
  if http then
    txn.http_req, txn.http_res = request(id), answer(id)
    txn.http_req.channel, txn.http_res.channel = txn.req, txn.res
  end
  local part = about_message and (response and txn.http_res or txn.http_req) or (response and txn.res or txn.req)
  return method(object, txn, part)
end

-- What a filter asks for: whether it sees the payload of a direction.
function filter.register_data_filter(_, channel)
  ask("data_filter", channel[0], channel.response, true)
  return channel
end
function filter.unregister_data_filter(_, channel)
  ask("data_filter", channel[0], channel.response, false)
  return channel
end
function filter.wake_time(milliseconds)
  ask("wake_time", 0, number("wake_time", 1, milliseconds) // 1)
end

function core.register_filter(name, methods, parse)
  needs("register_filter", 3, parse == nil)
  help.callable("register_filter", 3, parse)
  if type(methods) ~= "table" then
    raise("bad argument #2 to 'register_filter' (table expected, got " .. type(methods) .. ")", 2)
  end
  ask("register_filter", 0, tostring(name), methods, parse)
end

native.classes.HTTPMessage = HTTPMessage
