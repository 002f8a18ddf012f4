-- The script of a user runs in an environment without files, processes, other code and other clusters. What is wrong with the script
-- answers an error instead of letting requests pass.
local env = {os = {time = os.time, date = os.date, clock = os.clock}}
for _, name in ipairs({"assert", "error", "ipairs", "math", "next", "pairs", "pcall", "rawequal", "rawget", "rawset", "select",
  "setmetatable", "string", "table", "tonumber", "tostring", "type", "unpack", "xpcall"}) do
  env[name] = _G[name]
end
env._G = env
string.dump = nil
local rep = string.rep
string.rep = function(text, count, ...)
  if #text * count > 1000000 then
    error("the result of string.rep is too long", 2)
  end
  return rep(text, count, ...)
end

-- A script that does not end would hold up all requests of a thread, so each call may take so many instructions. Compiled code is not
-- counted, so nothing is compiled. Once it has taken too many, every further instruction fails, so that the script cannot catch the error.
local most = 10000000
local sethook, getinfo = debug.sethook, debug.getinfo
jit.off()
local function stop()
  if getinfo(2, "S").source == "=script" then
    sethook(stop, "", 1)
    error("the script takes too long", 2)
  end
end

local methods = {}
for _, name in ipairs({"headers", "body", "bodyChunks", "trailers", "metadata", "respond", "streamInfo", "connection",
  "connectionStreamInfo", "importPublicKey", "verifySignature", "base64Escape", "timestamp", "timestampString", "filterContext",
  "logTrace", "logDebug", "logInfo", "logWarn", "logErr", "logCritical"}) do
  methods[name] = true
end

local function own(name)
  name = tostring(name):lower()
  if name:sub(1, 13) == "x-gatewright-" or name == "host" or name == ":authority" or name == ":scheme" then
    error("header " .. name .. " cannot be changed", 3)
  end
end

local restricted, restrictedHeaders = false, false
local function restrict(handle)
  if not restricted then
    local all = getmetatable(handle)
    for name in pairs(all) do
      if type(name) == "string" and name:sub(1, 2) ~= "__" and not methods[name] then
        all[name] = nil
      end
    end
    all.filterContext = function() return context end
    restricted = true
  end
  if not restrictedHeaders then
    local all = getmetatable(handle:headers())
    for _, name in ipairs({"add", "replace", "remove"}) do
      local change = all[name]
      all[name] = function(headers, key, ...)
        own(key)
        return change(headers, key, ...)
      end
    end
    restrictedHeaders = true
  end
end

local chunk, problem = load(source, "=script", "t", env)
if chunk then
  sethook(stop, "", most)
  local ok, err = pcall(chunk)
  if not ok then
    chunk, problem = nil, err
  end
end

local function closed(handle, why)
  handle:logErr(tostring(why))
  handle:respond({[":status"] = "500"}, "")
end

if not chunk then
  function envoy_on_request(handle)
    closed(handle, problem)
  end
else
  if type(env.envoy_on_request) == "function" then
    function envoy_on_request(handle)
      restrict(handle)
      sethook(stop, "", most)
      local ok, err = pcall(env.envoy_on_request, handle)
      if not ok then
        closed(handle, err)
      end
    end
  end
  if type(env.envoy_on_response) == "function" then
    function envoy_on_response(handle)
      restrict(handle)
      sethook(stop, "", most)
      local ok, err = pcall(env.envoy_on_response, handle)
      if not ok then
        handle:logErr(tostring(err))
        handle:headers():replace(":status", "500")
      end
    end
  end
end
