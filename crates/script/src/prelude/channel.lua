-- Channel: the bytes of one direction of a session in TCP mode. Those that scripts have forwarded
-- stand in front of those that they still see.
local native = ...
local help = native.help
local ask, needs, number, raise = help.ask, help.needs, help.number, error
local tostring = tostring

local Channel = native.classes.Channel

-- The bytes that are seen, those that were forwarded, and how many more fit.
local function look(self)
  local found = ask("channel", self[0], self.response)
  return found.bytes:sub(found.passed + 1), found.bytes:sub(1, found.passed), found.room
end

local function put(self, input, output)
  ask("edit_channel", self[0], self.response, output .. input, #output)
end

-- The range of `length` bytes from `offset` on; one below 0 counts from the end.
local function range(name, input, offset, length)
  offset = offset and number(name, 1, offset) or 0
  if offset < 0 then offset = #input + offset end
  if offset < 0 or offset > #input then raise("offset out of range.", 3) end
  length = length and number(name, 2, length) or -1
  if length < 0 or offset + length > #input then length = #input - offset end
  return offset, length
end

function Channel:data(offset, length)
  local input = look(self)
  offset, length = range("data", input, offset, length)
  return input:sub(offset + 1, offset + length)
end
function Channel:line(offset, length)
  local input = look(self)
  offset, length = range("line", input, offset, length)
  local bytes = input:sub(offset + 1, offset + length)
  return bytes:sub(1, bytes:find("\n", 1, true) or #bytes)
end
function Channel:dup() return (look(self)) end
function Channel:get()
  local input, output = look(self)
  put(self, "", output)
  return input
end
function Channel:getline()
  local input, output = look(self)
  local size = input:find("\n", 1, true) or #input
  put(self, input:sub(size + 1), output)
  return input:sub(1, size)
end

-- Inserts bytes; -1 if there is no room for them.
local function insert(self, bytes, offset)
  local input, output, room = look(self)
  bytes = tostring(bytes)
  if #bytes > room then return -1 end
  put(self, input:sub(1, offset) .. bytes .. input:sub(offset + 1), output)
  return #bytes
end
function Channel:append(bytes)
  needs("append", 2, bytes == nil)
  return insert(self, bytes, #look(self))
end
function Channel:prepend(bytes)
  needs("prepend", 2, bytes == nil)
  return insert(self, bytes, 0)
end
function Channel:insert(bytes, offset)
  needs("insert", 2, bytes == nil)
  local input = look(self)
  return insert(self, bytes, (range("insert", input, offset)))
end
function Channel:remove(offset, length)
  local input, output = look(self)
  offset, length = range("remove", input, offset, length)
  put(self, input:sub(1, offset) .. input:sub(offset + length + 1), output)
  return length
end
function Channel:set(bytes, offset, length)
  needs("set", 2, bytes == nil)
  bytes = tostring(bytes)
  local input, output, room = look(self)
  offset, length = range("set", input, offset, length)
  if #bytes > room + length then return -1 end
  put(self, input:sub(1, offset) .. bytes .. input:sub(offset + length + 1), output)
  return #bytes
end
function Channel:forward(length)
  needs("forward", 2, length == nil)
  local input, output = look(self)
  length = number("forward", 1, length)
  if length < 0 or length > #input then length = #input end
  put(self, input:sub(length + 1), output .. input:sub(1, length))
  return length
end
function Channel:send(bytes)
  needs("send", 2, bytes == nil)
  bytes = tostring(bytes)
  local input, output, room = look(self)
  if #bytes > room then return -1 end
  put(self, input, output .. bytes)
  return #bytes
end

local function state(self) return ask("channel_state", self[0], self.response) end
function Channel:input() return state(self).input end
function Channel:output() return state(self).output end
function Channel:is_full() return state(self).full end
function Channel:may_recv() return state(self).open end
function Channel:is_resp() return self.response end
Channel.get_in_len, Channel.get_out_len = Channel.input, Channel.output
