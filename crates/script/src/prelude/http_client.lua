-- The class HTTPClient: requests to servers, by way of the process.
local native = ...
local core = native.classes.core
local raise, setmetatable, type, pairs, tostring = error, setmetatable, type, pairs, tostring
local wait, flat = native.help.wait, native.help.flat

local HTTPClient = {}
local meta = { __index = HTTPClient, __tostring = function() return "HAProxy class HTTPClient" end }

local kinds = { url = "string", body = "string", dst = "string", headers = "table", timeout = "number" }

-- Errors name the line of the script, two frames up from here.
local function check(name, request)
  if type(request) ~= "table" then raise("'" .. name .. "' needs a table as argument", 3) end
  for key, value in pairs(request) do
    local kind = kinds[key]
    if not kind then raise("'" .. tostring(key) .. "' invalid parameter name", 3) end
    if type(value) ~= kind then
      raise("invalid parameter in '" .. key .. "', must be a " .. kind, 3)
    end
  end
  if not request.url then raise("'" .. name .. "' need a 'url' argument", 3) end
end

for _, name in pairs { "get", "head", "put", "post", "delete" } do
  local method = name:upper()
  HTTPClient[name] = function(_, request)
    check(name, request)
    local lines = flat(request.headers)
    return (wait("http", method, request.url, lines, request.body, request.dst, request.timeout))
  end
end

function core.httpclient() return setmetatable({}, meta) end
native.classes.HTTPClient = HTTPClient
