-- What a script sees, and how its result becomes JSON text. Runs once per Lua state; scripts never reach
-- anything in this file but what `functions` and `libraries` hold.
local arguments, fill, fill_all, array, array_mark, unread_mark = ...
local get_mark, set_mark, set_upvalue = debug.getmetatable, setmetatable, debug.setupvalue
local next, type, rawget, rawset, error, pcall, load = next, type, rawget, rawset, error, pcall, load
local math_type, random_seed, huge = math.type, math.randomseed, math.huge
local format, gsub, find, byte, utf8_len = string.format, string.gsub, string.find, string.byte, utf8.len
local concat, tonumber = table.concat, tonumber

get_mark("").__metatable = false
string.dump = nil

-- A finalizer would run inside somebody else's script.
local function guarded_setmetatable(value, mark)
  if type(mark) == "table" and rawget(mark, "__gc") ~= nil then
    error("__gc is not available", 2)
  end
  return set_mark(value, mark)
end

local functions = {
  assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next, pairs = pairs,
  pcall = pcall, rawequal = rawequal, rawget = rawget, rawlen = rawlen, rawset = rawset, select = select,
  setmetatable = guarded_setmetatable, tonumber = tonumber, tostring = tostring, type = type, xpcall = xpcall,
  array = array, print = function() end, _VERSION = _VERSION,
}
-- These see a table as it is, not as its mark shows it.
local raw = {
  array = true, getmetatable = true, next = true, pairs = true, rawget = true, rawlen = true, rawset = true,
  setmetatable = true,
}
local libraries = {string = string, table = table, math = math, utf8 = utf8, coroutine = coroutine}

-- Every run has globals of its own; a library is copied when a script first names it.
local globals_mark = {
  __metatable = false,
  __index = function(globals, name)
    local library = libraries[name]
    if not library then
      if raw[name] then fill_all() end
      return functions[name]
    end
    local own = {}
    for key, value in next, library do own[key] = value end
    rawset(globals, name, own)
    return own
  end,
}

local function fresh()
  local globals = {}
  globals._G = globals
  random_seed()
  return set_mark(globals, globals_mark)
end

local escapes = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t"}
local function escape(character)
  return escapes[character] or format("\\u%04x", byte(character))
end

local function text_of(value)
  if not utf8_len(value) then error("the result is not JSON: text that is not UTF-8", 0) end
  if find(value, '[%c"\\]') then value = gsub(value, '[%c"\\]', escape) end
  return '"' .. value .. '"'
end

local function number_of(value)
  if math_type(value) == "integer" then return format("%d", value) end
  if value ~= value or value == huge or value == -huge then
    error("the result is not JSON: " .. format("%f", value), 0)
  end
  local text = format("%.15g", value)
  if tonumber(text) ~= value then text = format("%.17g", value) end
  return find(text, "[.e]") and text or text .. ".0"
end

local MAX_DEPTH, MAX_BYTES = 64, 1 << 20
local write, write_table

local function write_list(value, count, longest, out, depth)
  if longest > 2 * count + 8 then
    error("the result is not JSON: a list with more holes than values", 0)
  end
  out[#out + 1] = "["
  for index = 1, longest do
    if index > 1 then out[#out + 1] = "," end
    write(rawget(value, index), out, depth)
  end
  out[#out + 1] = "]"
end

local function write_object(value, out, depth)
  local separator = "{"
  for key, item in next, value do
    if type(key) ~= "string" then
      error("the result is not JSON: a table needs either names or 1, 2, 3 ... as keys", 0)
    end
    out[#out + 1] = separator .. text_of(key) .. ":"
    write(item, out, depth)
    separator = ","
  end
  out[#out + 1] = "}"
end

function write_table(value, out, depth)
  if depth >= MAX_DEPTH then error("limit: nesting", 0) end
  local count, longest = 0, 0
  for key in next, value do
    if math_type(key) ~= "integer" or key < 1 then return write_object(value, out, depth + 1) end
    count = count + 1
    if key > longest then longest = key end
  end
  if count > 0 then return write_list(value, count, longest, out, depth + 1) end
  local mark = get_mark(value)
  if mark == unread_mark then
    fill(value)
    return write_table(value, out, depth)
  end
  out[#out + 1] = mark == array_mark and "[]" or "{}"
end

function write(value, out, depth)
  local kind = type(value)
  local text
  if kind == "table" then return write_table(value, out, depth)
  elseif kind == "string" then text = text_of(value)
  elseif kind == "number" then text = number_of(value)
  elseif kind == "boolean" then text = value and "true" or "false"
  elseif kind == "nil" then text = "null"
  else error("the result is not JSON: a " .. kind, 0) end
  out.bytes = out.bytes + #text
  if out.bytes > MAX_BYTES then error("limit: result size", 0) end
  out[#out + 1] = text
end

local function encode(value)
  local out = {bytes = 0}
  write(value, out, 0)
  return concat(out)
end

local function start(chunk, text) return chunk(arguments(text)) end

local function call(chunk, finish, text)
  set_upvalue(chunk, 1, fresh())
  local ok, result = pcall(start, chunk, text)
  if ok then ok, result = pcall(finish, result) end
  if not ok and type(result) ~= "string" then result = "error object (" .. type(result) .. ")" end
  return ok, result
end

local function run(chunk, text) return call(chunk, encode, text) end

local function is_true(value) return value ~= nil and value ~= false end
local function test(chunk, text) return call(chunk, is_true, text) end

local function compile(source) return load(source, "=script", "t") end

local everything = _G
for name in next, everything do everything[name] = nil end
return compile, run, test
